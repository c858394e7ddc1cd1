"""Reasons to renew a leaf and to rotate an authority (the first one that holds), and the phase of a rotation.

A phase is derived from facts at each pass; the stored phase is only a hint for its start.
"""

from datetime import datetime, timedelta
from typing import Final

from cryptography import x509

from . import trust
from .certificate import Certificate, read_extension
from .state import (
    AUTHORITY_GUARD,
    DAY,
    LEAF_GUARD,
    MIN_AGREEING_ROUNDS,
    SHORT_SETTLE,
    SKEW_STOP,
    AuthoritySecret,
    CertificateState,
    Phase,
    Serving,
)

REFERENCE_LOOKAHEAD: Final = 90 * DAY  # what the Go operator looks ahead, for both kinds of certificate
RENEWAL_MARGIN: Final = 30 * DAY
RESTING: Final = frozenset({Phase.BOOTSTRAP, Phase.STABLE, None})
AFTER_ISSUE: Final = (Phase.ROLL, Phase.DRAIN, Phase.DROP)


def unusable_reason(state: CertificateState, issuer: Certificate, now: datetime) -> str:
    """Returns why clients must refuse the leaf of the serving Secret, so that nothing delays its successor; empty when they needn't."""
    serving = state.serving
    if serving is None or not serving.chain:
        return "missing"
    leaf = serving.leaf
    if leaf is None:
        return "unreadable"
    if serving.key is None:
        return "key-unreadable"
    if not serving.key.belongs_to(leaf):
        return "key-differs"
    if now < leaf.not_before:
        return "not-yet-valid"
    if now >= leaf.not_after:
        return "expired"
    if not issuer.issued(leaf):
        return "issuer-differs"
    return "" if state.profile.server_name in leaf.names else "server-name-missing"


def leaf_reason(state: CertificateState, issuer: Certificate, now: datetime) -> str:
    """Returns why the serving Secret needs a new leaf of `issuer`; empty when it doesn't, or not yet.

    A leaf that can still be served is replaced at most once in `LEAF_GUARD`, so that no disagreement can turn into a flood.
    """
    if reason := unusable_reason(state, issuer, now):
        return reason
    leaf = state.serving.leaf if state.serving else None
    if leaf is None or now < leaf.not_before + state.timings.backdate + LEAF_GUARD:
        return ""
    if leaf.not_after > issuer.not_after:
        return "outlives-issuer"
    if not leaf.names.issuperset(state.profile.names):
        return "name-missing"
    if leaf.key_kind != state.profile.key_kind:
        return "profile-changed"
    # a leaf that ends with its authority would not live longer, and waits for the next authority
    gains = min(now + state.timings.leaf_life, issuer.not_after) > leaf.not_after
    return "ends-soon" if now >= renewal_time(leaf) and gains else ""


def renewal_time(leaf: Certificate) -> datetime:
    """The renewal time of a leaf: a third of its life is left then (122 of 365 days)."""
    return leaf.not_after - leaf.life / 3


def rotation_reason(state: CertificateState, now: datetime) -> str:
    """Returns why a new authority must follow the current one; empty when none need, and while there is no current one."""
    secret = state.authority
    if secret is None or secret.current is None:
        return ""
    current, requested = secret.current, bool(secret.requested) and secret.requested != secret.handled
    if secret.current_key is None:
        return "key-lost"
    if secret.reason == "compromised" and (secret.hint.phase in RESTING or requested):
        return "compromised"
    if requested:
        return "requested"
    if not current.valid_at(now):
        return "expiry"
    # serial 0, a fixed name and no key id to distinguish them is the profile of the Go operator's authorities
    weak = (
        current.parsed.serial_number <= 0 or not current.is_authority or read_extension(current.parsed, x509.SubjectKeyIdentifier) is None
    )
    if secret.reason == "adopted" or weak:
        return "adopted"
    if now < current.not_before + state.timings.backdate + AUTHORITY_GUARD:
        return ""
    if now >= rotation_time(state, current):
        return "expiry"
    return "profile-changed" if current.key_kind != state.profile.key_kind else ""


def rotation_time(state: CertificateState, authority: Certificate) -> datetime:
    """The rotation time of an authority, when its life no longer covers a leaf, the drain and a margin (at most a third of its life)."""
    ahead = max(state.timings.leaf_life + state.timings.drain + RENEWAL_MARGIN, REFERENCE_LOOKAHEAD)
    return authority.not_after - min(ahead, authority.life / 3)


def may_sign(state: CertificateState) -> bool:
    """Whether our clock is near enough to the API server's to sign and to rotate."""
    return abs(state.skew) <= SKEW_STOP


def can_sign(secret: AuthoritySecret, now: datetime) -> bool:
    """Whether the current authority can issue a leaf that clients accept."""
    return bool(secret.current and secret.current_key and secret.current.valid_at(now))


def is_outage(state: CertificateState, now: datetime) -> bool:
    """Whether no replica serves a trusted certificate, so that waiting wouldn't prevent any failure."""
    leaves = trust.list_presented_leaves(state)
    if state.serving and state.serving.leaf and _is_servable(state.serving, state.profile.server_name):
        leaves += (state.serving.leaf,)
    if not leaves:
        return not trust.blind(state)
    known = trust.list_own_authorities(state.authority) if state.authority else ()
    if trust.is_orphaned(state):
        known += trust.list_authorities(state)
    trusted = [authority for authority in known if authority.valid_at(now)]
    return not any(leaf.valid_at(now) and any(authority.issued(leaf) for authority in trusted) for leaf in leaves)


def _is_servable(serving: Serving, name: str) -> bool:
    """Whether servers accept the stored pair: not one that another operator has left for its own Service."""
    return bool(serving.leaf and serving.key and serving.key.belongs_to(serving.leaf) and name in serving.leaf.names)


def is_key_compromised(state: CertificateState) -> bool:
    """Whether the rotation under way flees from a stolen key: waiting protects the thief."""
    return state.authority is not None and state.authority.reason == "compromised"


def age_of(since: datetime | None, now: datetime) -> timedelta | None:
    """The time that has passed; None when `since` is unknown or in the future, as after a clock was set back."""
    return now - since if since is not None and since <= now else None


def derive(state: CertificateState, now: datetime) -> Phase:
    """The phase of mode `managed`, by the table of docs/certificates.md ("A rotation"), with the emergencies."""
    secret = state.authority
    if secret is None or secret.current is None:
        return Phase.BOOTSTRAP
    if secret.next and trust.issuers((secret.next,), trust.list_served_leaves(state)):
        return Phase.ISSUE  # half done: a leaf of next is out
    if _lacks_next(state, secret, secret.current, now):
        return Phase.PREPARE
    if secret.next:
        return _towards(state, now)
    if secret.previous or trust.is_orphaned(state):
        return _after(state, secret, secret.current, now)
    if rotation_reason(state, now):
        return Phase.PREPARE
    return Phase.BOOTSTRAP if secret.hint.phase is Phase.BOOTSTRAP else Phase.STABLE


def _lacks_next(state: CertificateState, secret: AuthoritySecret, current: Certificate, now: datetime) -> bool:
    """In the midst of a rotation, another authority is needed: the next one can't sign, or the newest can't and a leaf is needed."""
    if secret.next:
        return secret.next_key is None or not secret.next.valid_at(now)
    return bool(secret.previous) and not can_sign(secret, now) and bool(leaf_reason(state, current, now))


def _towards(state: CertificateState, now: datetime) -> Phase:
    """On the way to a new issuer: trust is published everywhere, has settled, is used."""
    if not trust.is_trusted_everywhere(state, trust.choose_bundle(state, Phase.TRUST, now)):
        return Phase.TRUST
    lasted = age_of(state.hint.since, now) if state.hint.phase is Phase.SETTLE else None
    if is_outage(state, now) or (lasted is not None and lasted >= settle_time(state)):
        return Phase.ISSUE
    return Phase.SETTLE


def _after(state: CertificateState, secret: AuthoritySecret, current: Certificate, now: datetime) -> Phase:
    """With a previous authority: the current one is either in use, or (after the loss of the CA Secret) on its way to be."""
    phase = secret.hint.phase
    if trust.is_issued_by(state, current):
        return phase if phase in AFTER_ISSUE and phase is not None else Phase.ROLL
    if phase in AFTER_ISSUE and phase is not None:
        restored = any(trust.is_issued_by(state, old) for old in secret.previous)  # an old Secret was restored
        if not restored:
            return phase
        return Phase.ISSUE if trust.is_trusted_everywhere(state, trust.choose_bundle(state, Phase.ROLL, now)) else Phase.TRUST
    return _towards(state, now)


def settle_time(state: CertificateState) -> timedelta:
    """Time for which every object must have shown a bundle before it is relied upon."""
    return min(state.timings.settle, SHORT_SETTLE) if is_key_compromised(state) else state.timings.settle


def roll_time(state: CertificateState) -> timedelta:
    """The minimum duration of ROLL; twice as long if servers can't be probed."""
    return state.timings.min_roll * (2 if is_probing_impossible(state) else 1)


def is_probing_impossible(state: CertificateState) -> bool:
    """Whether probing is impossible: not permitted, or none of the endpoints answers although some are ready."""
    if state.endpoints is None:
        return True
    return not any(endpoint.leaf for endpoint in state.endpoints) and any(endpoint.ready for endpoint in state.endpoints)


def has_converged(state: CertificateState) -> bool:
    """Whether every endpoint has presented a leaf of the current authority, twice in a row."""
    if is_probing_impossible(state):
        return True
    return all(
        endpoint.leaf and endpoint.rounds >= MIN_AGREEING_ROUNDS for endpoint in state.endpoints or ()
    ) and not list_foreign_endpoints(state)


def list_foreign_endpoints(state: CertificateState) -> tuple[str, ...]:
    """The addresses that are known to present a leaf of another authority than the current one."""
    current = state.authority.current if state.authority else None
    return tuple(
        endpoint.address for endpoint in state.endpoints or () if endpoint.leaf and not (current and current.issued(endpoint.leaf))
    )
