"""The steps a pass may take, as data: one write each, so that a crash between two loses nothing; content.py says what each writes.

At the end those that all modes share, to correct bundles, `ca.crt` and the trust ConfigMap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from .certificate import Certificate, read_certificates
from .state import CertificateState, Phase, Stance, Target
from .trust import is_trusted_everywhere, issuers, list_unsynced


@dataclass(frozen=True, slots=True)
class CreateAuthority:
    """Make a first authority, or a new one because the CA Secret is gone or unreadable; `previous` are the old ones still needed."""

    previous: tuple[Certificate, ...] = ()


@dataclass(frozen=True, slots=True)
class AdoptAuthority:
    """Take the authority that the Go operator left in the serving Secret into a CA Secret of our own."""


@dataclass(frozen=True, slots=True)
class StoreNext:
    """Make the next authority and keep it beside the current one (PREPARE)."""

    reason: str


@dataclass(frozen=True, slots=True)
class WriteServing:
    """Sign a new leaf and write the serving Secret, all keys in one update."""

    signer: Literal["current", "next"]
    bundle: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class RewriteServing:
    """Write the serving Secret with the same leaf, this `ca.crt`, and no authority's key."""

    bundle: bytes


@dataclass(frozen=True, slots=True)
class WriteBundle:
    """Write the bundle into all entries of one object that name our service, then read it back."""

    target: Target
    bundle: bytes
    reason: Literal["bootstrap", "rotation", "drift"]


@dataclass(frozen=True, slots=True)
class WriteTrust:
    """Write the trust ConfigMap: what every object shows, and whose leaves may be served."""

    bundle: bytes
    usable: frozenset[str]


@dataclass(frozen=True, slots=True)
class PromoteNext:
    """Rename next to current and current to previous (without its key), in one update; `previous` is the new list."""

    previous: tuple[Certificate, ...]


@dataclass(frozen=True, slots=True)
class MarkPhase:
    """Write the phase and the time of its beginning where the hint is kept."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class DropPrevious:
    """Delete previous.crt: the rotation is complete."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do before that time, unless a watch says otherwise."""

    until: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing may be done, and time alone won't change it; the reason is for people."""

    why: str


Step: TypeAlias = (
    CreateAuthority
    | AdoptAuthority
    | StoreNext
    | WriteServing
    | RewriteServing
    | WriteBundle
    | WriteTrust
    | PromoteNext
    | MarkPhase
    | DropPrevious
    | Wait
    | Nothing
)

_EVENTS = {
    StoreNext: "CARotationStarted",
    CreateAuthority: "CARotationStarted",
    WriteServing: "LeafIssued",
    DropPrevious: "CARotationCompleted",
}


def event_of(step: Step) -> str:
    """The reason of the Event that reports a completed step; empty for steps without one."""
    if isinstance(step, WriteBundle):
        return "TrustDriftRepaired" if step.reason == "drift" else ""
    if isinstance(step, MarkPhase):
        return "CATrustPublished" if step.phase == "SETTLE" else ""
    return _EVENTS.get(type(step), "")


def bundles(state: CertificateState, bundle: bytes, reason: Literal["bootstrap", "rotation", "drift"]) -> Iterator[Step]:
    """Writes to each object that shows another bundle, is ours to write, and has not just refused; never an empty one."""
    for target in list_unsynced(state, bundle) if bundle else ():
        if target.stance in {Stance.OURS, Stance.UNSET} and not target.refused:
            # renaming changes the order of the same authorities, which is no drift
            sorted_anew = target.bundles and all(set(read_certificates(one)) == set(read_certificates(bundle)) for one in target.bundles)
            yield WriteBundle(target, bundle, "rotation" if sorted_anew else reason)


def rewrite(state: CertificateState, bundle: bytes) -> Iterator[Step]:
    """The same leaf with the wanted `ca.crt` and without an authority's key; never for a pair that servers would refuse."""
    serving = state.serving
    if serving is None or serving.leaf is None or serving.key is None or not serving.key.belongs_to(serving.leaf):
        return
    if not issuers(read_certificates(bundle), (serving.leaf,)):
        return
    if serving.bundle != bundle or serving.holds_authority_key:
        yield RewriteServing(bundle)


def trust(state: CertificateState, bundle: bytes, usable: frozenset[str]) -> Iterator[Step]:
    """The trust ConfigMap: the bundle only once every object shows it, permission to serve at once."""
    old = state.trust
    shown = bundle if is_trusted_everywhere(state, bundle) else (old.bundle if old else b"")
    if old is None or (old.bundle, old.usable) != (shown, usable):
        yield WriteTrust(shown, usable)
