"""SGLang over several nodes: every node is told where the first one is, and which one it is itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.render.flags import add_flags
from dynamo_webhooks.reconciler.render.framework import SGLANG
from dynamo_webhooks.reconciler.render.multinode.probes import drop_probes

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.multinode.role import Role

_PORT: Final = 29500


def change_main(main: Fields, role: Role) -> None:
    """Changes the main container of one node, which is ours."""
    flags = f"--dist-init-addr {role.host}:{_PORT} --nnodes {role.nodes} --node-rank {role.rank}"
    add_flags(main, flags, SGLANG, shell=role.needs_shell)
    if not role.leader:
        drop_probes(main)
