"""The steps a pass may take, as data: one write each, so that a crash between two loses nothing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .certificate import Certificate
from .state import Phase, Target


class Step:
    """One step of those below."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CreateAuthority(Step):
    """Make a first authority, or a new one because the CA Secret is gone or unreadable; `previous` are the old ones still needed."""

    previous: tuple[Certificate, ...] = ()


@dataclass(frozen=True, slots=True)
class AdoptAuthority(Step):
    """Take the authority that the Go operator left in the serving Secret into a CA Secret of our own."""


@dataclass(frozen=True, slots=True)
class StoreNext(Step):
    """Make the next authority and keep it beside the current one (PREPARE)."""

    reason: str


@dataclass(frozen=True, slots=True)
class WriteServing(Step):
    """Sign a new leaf and write the serving Secret, all keys in one update."""

    signer: Literal["current", "next"]
    bundle: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class RewriteServing(Step):
    """Write the serving Secret with the same leaf, this `ca.crt`, and no authority's key."""

    bundle: bytes


@dataclass(frozen=True, slots=True)
class WriteBundle(Step):
    """Write the bundle into all entries of one object that name our service, then read it back."""

    target: Target
    bundle: bytes
    reason: Literal["bootstrap", "rotation", "drift"]


@dataclass(frozen=True, slots=True)
class WriteTrust(Step):
    """Write the trust ConfigMap: what every object shows, and whose leaves may be served."""

    bundle: bytes
    usable: frozenset[str]


@dataclass(frozen=True, slots=True)
class PromoteNext(Step):
    """Rename next to current and current to previous (without its key), in one update; `previous` is the new list."""

    previous: tuple[Certificate, ...]


@dataclass(frozen=True, slots=True)
class MarkPhase(Step):
    """Write the phase and the time of its beginning where the hint is kept."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class DropPrevious(Step):
    """Delete previous.crt: the rotation is complete."""


@dataclass(frozen=True, slots=True)
class Wait(Step):
    """Nothing to do before that time, unless a watch says otherwise."""

    until: datetime
    why: str


@dataclass(frozen=True, slots=True)
class NoStep(Step):
    """Nothing may be done, and time alone won't change it; the reason is for people."""

    why: str


def event_of(step: Step) -> tuple[str, str]:
    """Reason and text of the Event that reports a completed step; empty for steps without one."""
    match step:
        case WriteBundle(target=target, reason="drift"):
            return (
                "TrustDriftRepaired",
                f"the bundle of {target.kind} {target.name} differed from the expected one and has been written again",
            )
        case WriteServing():
            return "LeafIssued", f"a new certificate is in the serving Secret ({step.reason})"
        case StoreNext():
            return "CARotationStarted", f"a new authority was made ({step.reason}); it is trusted everywhere before it is used"
        case CreateAuthority() if step.previous:  # the first authority rotates nothing
            return "CARotationStarted", "the CA Secret was lost; a new authority was made, and the old one stays trusted while it is served"
        case MarkPhase(phase=Phase.SETTLE):
            return "CATrustPublished", "every configuration object trusts the new authority"
        case DropPrevious():
            return "CARotationCompleted", "the old authority is trusted nowhere any more"
    return "", ""
