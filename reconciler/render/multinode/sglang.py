"""SGLang on several nodes: every node gets the first one's address, and its own rank."""

from __future__ import annotations

from typing import Final

from ....conversion.lens.protocol import Fields
from ..flags import add_flags
from ..framework import SGLANG
from ..probes import drop_probes
from .role import Role

_PORT: Final = 29500


def change_main(main: Fields, role: Role) -> None:
    """Change the main container of one node, in place."""
    flags = f"--dist-init-addr {role.host}:{_PORT} --nnodes {role.nodes} --node-rank {role.rank}"
    add_flags(main, flags, SGLANG, shell=role.needs_shell)
    if not role.leader:
        drop_probes(main)
