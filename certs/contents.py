"""Contents of the stored objects that a step writes, whole, in one update."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from . import names
from .authority import AUTHORITY_NAME, KeyPair, issue_leaf, make_authority
from .certificate import Certificate
from .names import Names
from .state import CertificateState, Mode, Phase
from .step import (
    AdoptAuthority,
    CreateAuthority,
    DropPrevious,
    MarkPhase,
    PromoteNext,
    RewriteServing,
    Step,
    StoreNext,
    WriteServing,
    WriteTrust,
)
from .store import OPAQUE, TLS, Write
from .trust import list_authorities

_NUMBERED: Final = re.compile(re.escape(AUTHORITY_NAME) + r"(\d{1,9})\Z")


def make_content(step: Step, state: CertificateState, now: datetime, object_names: Names) -> Write | None:
    """Make the objects that a step writes, with new keys. None for steps that write no Secret or ConfigMap (WriteBundle, Wait, Nothing)."""
    if isinstance(step, (WriteServing, RewriteServing)):
        return _serving(step, state, now, object_names)
    if isinstance(step, WriteTrust) or (isinstance(step, MarkPhase) and state.mode is not Mode.MANAGED):
        return _trust(step, state, now, object_names)
    if isinstance(step, (CreateAuthority, AdoptAuthority, StoreNext, PromoteNext, MarkPhase, DropPrevious)):
        return _authority(step, state, now, object_names)
    return None


def _serving(step: WriteServing | RewriteServing, state: CertificateState, now: datetime, object_names: Names) -> Write:
    old = state.serving
    if isinstance(step, RewriteServing):
        if old is None or old.key is None:
            raise ValueError("a serving Secret is rewritten only when it holds a pair")
        pair = KeyPair(old.chain, old.key.pem)
    else:
        timings, profile = state.timings, state.profile
        pair = issue_leaf(
            _signer(state, step), profile.names, now, life=timings.leaf_life, backdate=timings.backdate, key_kind=profile.key_kind
        )
    data = {names.TLS_CERTIFICATE: pair.certificate, names.TLS_KEY: pair.key, names.TLS_AUTHORITY: step.bundle}
    return Write("Secret", object_names.serving, TLS, data, {}, old.version if old else "")


def _signer(state: CertificateState, step: WriteServing) -> KeyPair:
    secret = state.authority
    certificate, key = (None, None) if secret is None else (secret.current, secret.current_key)
    if secret and step.signer == "next":
        certificate, key = secret.next, secret.next_key
    if certificate is None or key is None:
        raise ValueError(f"the {step.signer} authority must have a key to sign with")
    return KeyPair(certificate.pem, key.pem)


def _trust(step: Step, state: CertificateState, now: datetime, object_names: Names) -> Write:
    old = state.trust
    bundle, usable = (step.bundle, step.usable) if isinstance(step, WriteTrust) else (old.bundle, old.usable) if old else (b"", frozenset())
    notes = _entered(step.phase, now) if isinstance(step, MarkPhase) else {}
    data = {names.BUNDLE: bundle, names.USABLE: "".join(f"{fingerprint}\n" for fingerprint in sorted(usable)).encode()}
    return Write("ConfigMap", object_names.trust, "", data, notes, old.version if old else "")


def _authority(step: Step, state: CertificateState, now: datetime, object_names: Names) -> Write:
    secret = state.authority
    data: dict[str, bytes] = {}
    if secret:  # in our encoding, without unreadable values
        held = {
            names.CURRENT: secret.current,
            names.CURRENT_KEY: secret.current_key,
            names.NEXT: secret.next,
            names.NEXT_KEY: secret.next_key,
        }
        data = {slot: value.pem for slot, value in held.items() if value} | _previous(secret.previous)
    generation = _generation(state) + 1
    notes: dict[str, str | None] = {}
    if isinstance(step, CreateAuthority):
        made = _new(state, generation, now)
        data = {names.CURRENT: made.certificate, names.CURRENT_KEY: made.key, **_previous(step.previous)}
        notes = {**_entered(Phase.TRUST if step.previous else Phase.BOOTSTRAP, now), names.GENERATION: str(generation)}
        notes[names.REASON] = "key-lost" if step.previous else None
    elif isinstance(step, AdoptAuthority):
        serving = state.serving
        key = serving.authority_key if serving else None
        if serving is None or key is None:
            raise ValueError("an authority is adopted only with its key")
        certificate = next(authority for authority in serving.authorities if key.belongs_to(authority))
        data = {names.CURRENT: certificate.pem, names.CURRENT_KEY: key.pem}
        notes = {**_entered(Phase.STABLE, now), names.GENERATION: str(generation), names.REASON: "adopted"}
    elif isinstance(step, StoreNext):
        made = _new(state, generation, now)
        data |= {names.NEXT: made.certificate, names.NEXT_KEY: made.key}
        notes = {**_entered(Phase.TRUST, now), names.GENERATION: str(generation), names.REASON: step.reason}
        notes[names.HANDLED] = secret.requested if secret and secret.requested else None
    elif isinstance(step, PromoteNext):
        slots = {names.CURRENT: data.get(names.NEXT), names.CURRENT_KEY: data.get(names.NEXT_KEY)}
        data = {key: value for key, value in slots.items() if value} | _previous(step.previous)
        notes = _entered(Phase.ROLL, now)
    elif isinstance(step, MarkPhase):
        notes = _entered(step.phase, now)
    else:
        data.pop(names.PREVIOUS, None)
        notes = {**_entered(Phase.STABLE, now), names.REASON: None}
    return Write("Secret", object_names.authority, OPAQUE, data, notes, secret.version if secret else "")


def _new(state: CertificateState, generation: int, now: datetime) -> KeyPair:
    timings = state.timings
    life, kind = timings.authority_life, state.profile.key_kind
    return make_authority(now, generation=generation, life=life, backdate=timings.backdate, key_kind=kind)


def _generation(state: CertificateState) -> int:
    """The highest generation used so far, from the annotation or the names of all known authorities."""
    numbers = [int(match[1]) for authority in list_authorities(state) if (match := _NUMBERED.match(authority.common_name))]
    return max([0, *numbers, state.authority.generation if state.authority else 0])


def _previous(authorities: tuple[Certificate, ...]) -> dict[str, bytes]:
    return {names.PREVIOUS: b"".join(authority.pem for authority in authorities)} if authorities else {}


def _entered(phase: Phase, now: datetime) -> dict[str, str | None]:
    return {names.PHASE: phase.value, names.SINCE: now.isoformat(timespec="milliseconds")}
