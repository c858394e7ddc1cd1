"""The phase of a rotation, derived from facts at each pass; the stored phase is only a hint for its start."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from .certificate import Certificate
from .policy import age_of, can_sign, is_key_compromised, is_outage, leaf_reason, rotation_reason
from .state import ROUNDS, SHORT_SETTLE, AuthoritySecret, CertificateState, Phase
from .trust import choose_bundle, is_issued_by, is_orphaned, is_trusted_everywhere, issuers, list_served_leaves

AFTER_ISSUE: Final = (Phase.ROLL, Phase.DRAIN, Phase.DROP)


def derive(state: CertificateState, now: datetime) -> Phase:
    """The phase of mode `managed`, by the table of docs/certificates.md ("A rotation"), with the emergencies."""
    secret = state.authority
    if secret is None or secret.current is None:
        return Phase.BOOTSTRAP
    if secret.next and issues_served_leaf(state, secret.next):
        return Phase.ISSUE  # half done: a leaf of next is out
    if _lacks_next(state, secret, secret.current, now):
        return Phase.PREPARE
    if secret.next:
        return _towards(state, now)
    if secret.previous or is_orphaned(state):
        return _after(state, secret, secret.current, now)
    if rotation_reason(state, now):
        return Phase.PREPARE
    return Phase.BOOTSTRAP if secret.hint.phase is Phase.BOOTSTRAP else Phase.STABLE


def issues_served_leaf(state: CertificateState, authority: Certificate) -> bool:
    """Whether the authority issued the leaf of the serving Secret, or one that an endpoint presents."""
    return bool(issuers((authority,), list_served_leaves(state)))


def _lacks_next(state: CertificateState, secret: AuthoritySecret, current: Certificate, now: datetime) -> bool:
    """In the midst of a rotation, another authority is needed: the next one can't sign, or the newest can't and a leaf is needed."""
    if secret.next:
        return secret.next_key is None or not secret.next.valid_at(now)
    return bool(secret.previous) and not can_sign(secret, now) and bool(leaf_reason(state, current, now))


def _towards(state: CertificateState, now: datetime) -> Phase:
    """On the way to a new issuer: trust is published everywhere, has settled, is used."""
    if not is_trusted_everywhere(state, choose_bundle(state, Phase.TRUST, now)):
        return Phase.TRUST
    lasted = age_of(state.hint.since, now) if state.hint.phase is Phase.SETTLE else None
    if is_outage(state, now) or (lasted is not None and lasted >= settle_time(state)):
        return Phase.ISSUE
    return Phase.SETTLE


def _after(state: CertificateState, secret: AuthoritySecret, current: Certificate, now: datetime) -> Phase:
    """With a previous authority: the current one is either in use, or (after the loss of the CA Secret) on its way to be."""
    phase = secret.hint.phase
    if is_issued_by(state, current):
        return phase if phase in AFTER_ISSUE and phase is not None else Phase.ROLL
    if phase in AFTER_ISSUE and phase is not None:
        restored = any(is_issued_by(state, old) for old in secret.previous)  # an old Secret was restored
        if not restored:
            return phase
        return Phase.ISSUE if is_trusted_everywhere(state, choose_bundle(state, Phase.ROLL, now)) else Phase.TRUST
    return _towards(state, now)


def settle_time(state: CertificateState) -> timedelta:
    """How long every object must have shown a bundle before it is relied upon."""
    return min(state.timings.settle, SHORT_SETTLE) if is_key_compromised(state) else state.timings.settle


def roll_time(state: CertificateState) -> timedelta:
    """The minimum duration of ROLL; twice as long if servers can't be probed."""
    return state.timings.min_roll * (2 if is_probing_impossible(state) else 1)


def is_probing_impossible(state: CertificateState) -> bool:
    """Whether probing is impossible: not permitted, or none of the endpoints answers although some are ready."""
    if state.endpoints is None:
        return True
    return not any(one.leaf for one in state.endpoints) and any(one.ready for one in state.endpoints)


def has_converged(state: CertificateState) -> bool:
    """Whether every endpoint has presented a leaf of the current authority, twice in a row."""
    if is_probing_impossible(state):
        return True
    return all(one.leaf and one.rounds >= ROUNDS for one in state.endpoints or ()) and not list_foreign_endpoints(state)


def list_foreign_endpoints(state: CertificateState) -> tuple[str, ...]:
    """The addresses that are known to present a leaf of another authority than the current one."""
    current = state.authority.current if state.authority else None
    return tuple(one.address for one in state.endpoints or () if one.leaf and not (current and current.issued(one.leaf)))
