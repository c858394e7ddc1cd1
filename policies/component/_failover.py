"""Which layout a failover block asks for, under either profile, and which it could; plain inter-pod ones are in policies/domain.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.policies.domain import INTRA_POD, enabled, interpod_failover
from dynamo_webhooks.policies.rule import DGD
from dynamo_webhooks.policies.words import Words, words

if TYPE_CHECKING:
    from dynamo_webhooks.policies.at import At
    from dynamo_webhooks.policies.review import Fields

EMPTY_MODE: Final = "failover without a mode is intra-pod, the schema's default"


def intrapod(component: Fields) -> bool:
    """Whether standby engines live in the pod of the active one; an absent or empty mode means that."""
    failover = component.get("failover")
    return enabled(failover) and (failover.get("mode") or INTRA_POD) == INTRA_POD


def intrapod_1_2(component: Fields) -> bool:
    """The same for the Go operator, for which a mode that is not written is no mode."""
    failover = component.get("failover")
    return enabled(failover) and failover.get("mode") == INTRA_POD


def interpod_without_gms(component: Fields) -> bool:
    """Whether there is inter-pod failover and no GPU memory service, whose rules already speak of GPUs and component types."""
    return interpod_failover(component) and not enabled(component.get("gpuMemoryService"))


def one_mode(at: At) -> Words:
    """What to do where the two blocks name different modes; only in a graph can pods be of several layouts."""
    return words("set both modes to {intraPod} or both to {interPod}" if at.review.kind == DGD else "set both modes to {intraPod}")


def switched(on: bool) -> Words:
    """What an update must not do that moves something into pods of its own (`on`), or out of them."""
    return words("must not become {interPod} after creation" if on else "must stay {interPod}, and enabled, after creation")
