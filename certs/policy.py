"""Why a leaf must be renewed and an authority rotated: the first reason that holds, by its name."""

from datetime import datetime, timedelta
from typing import Final

from cryptography import x509

from .certificate import UNREADABLE, Certificate
from .state import AUTHORITY_GUARD, DAY, LEAF_GUARD, SKEW_STOP, AuthoritySecret, CertificateState, Phase
from .trust import blind, is_orphaned, list_authorities, list_served_leaves, ours

REFERENCE_LOOKAHEAD: Final = 90 * DAY  # what the Go operator looks ahead, for both kinds of certificate
MARGIN: Final = 30 * DAY
RESTING: Final = frozenset({Phase.BOOTSTRAP, Phase.STABLE, None})


def unusable_reason(state: CertificateState, issuer: Certificate, now: datetime) -> str:
    """Why clients must refuse the leaf of the serving Secret, so that nothing delays its successor; empty when they needn't."""
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
    """Why the serving Secret needs a new leaf of `issuer`; empty when it doesn't, or not yet.

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
    """When a third of its life is left: 122 of 365 days."""
    return leaf.not_after - leaf.life / 3


def rotation_reason(state: CertificateState, now: datetime) -> str:
    """Why a new authority must follow the current one; empty when none need, and while there is no current one."""
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
    if secret.reason == "adopted" or _weak(current):
        return "adopted"
    if now < current.not_before + state.timings.backdate + AUTHORITY_GUARD:
        return ""
    if now >= rotation_time(state, current):
        return "expiry"
    return "profile-changed" if current.key_kind != state.profile.key_kind else ""


def rotation_time(state: CertificateState, authority: Certificate) -> datetime:
    """When an authority's remaining life no longer covers a whole leaf, its drain and a margin; at most a third of its life."""
    ahead = max(state.timings.leaf_life + state.timings.drain + MARGIN, REFERENCE_LOOKAHEAD)
    return authority.not_after - min(ahead, authority.life / 3)


def _weak(authority: Certificate) -> bool:
    """The profile of the Go operator's authorities: serial 0, a fixed name and no key id to distinguish them."""
    try:
        authority.parsed.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except (x509.ExtensionNotFound, *UNREADABLE):
        return True
    return authority.parsed.serial_number <= 0 or not authority.is_authority


def may_sign(state: CertificateState) -> bool:
    """Whether our clock is near enough to the API server's to sign and to rotate."""
    return abs(state.skew) <= SKEW_STOP


def can_sign(secret: AuthoritySecret, now: datetime) -> bool:
    """Whether the current authority can issue a leaf that clients accept."""
    return bool(secret.current and secret.current_key and secret.current.valid_at(now))


def is_outage(state: CertificateState, now: datetime) -> bool:
    """Whether no replica serves a trusted certificate, so that waiting wouldn't prevent any failure."""
    leaves = list_served_leaves(state)
    if not leaves:
        return not blind(state)
    known = (*(ours(state.authority) if state.authority else ()), *(list_authorities(state) if is_orphaned(state) else ()))
    trusted = [one for one in known if one.valid_at(now)]
    return not any(leaf.valid_at(now) and any(one.issued(leaf) for one in trusted) for leaf in leaves)


def is_key_compromised(state: CertificateState) -> bool:
    """Whether the rotation under way flees from a stolen key: waiting protects the thief."""
    return state.authority is not None and state.authority.reason == "compromised"


def age_of(since: datetime | None, now: datetime) -> timedelta | None:
    """The time that has passed; None when `since` is unknown or in the future, as after a clock was set back."""
    return now - since if since is not None and since <= now else None
