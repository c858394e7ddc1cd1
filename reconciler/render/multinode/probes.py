"""Probes of nodes that serve no requests themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.render.pod.probes import KINDS

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields


def drop_probes(main: Fields) -> None:
    """Remove the probes of a container, in place: only the leader answers them."""
    for kind in KINDS:
        main.pop(kind, None)
