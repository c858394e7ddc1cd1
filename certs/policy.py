"""Why a leaf must be renewed and an authority rotated: ordered chains of named predicates; the first that holds is the reason."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from cryptography import x509

from .certificate import UNREADABLE, Certificate
from .state import AUTHORITY_GUARD, DAY, LEAF_GUARD, SKEW_STOP, AuthoritySecret, CertificateState, Phase, Serving
from .trust import blind, is_orphaned, list_authorities, list_served_leaves, ours

REFERENCE_LOOKAHEAD: Final = 90 * DAY  # what the Go operator looks ahead, for both kinds of certificate
MARGIN: Final = 30 * DAY
RESTING: Final = frozenset({Phase.BOOTSTRAP, Phase.STABLE, None})


class _Leaf(NamedTuple):
    """What predicates on a leaf read; the serving Secret may be absent."""

    state: CertificateState
    serving: Serving | None
    leaf: Certificate | None
    issuer: Certificate
    now: datetime


_Check: TypeAlias = "Callable[[_Leaf], bool]"


def _present(case: _Leaf, check: Callable[[Certificate], bool]) -> bool:
    return case.leaf is not None and check(case.leaf)


# reasons for which the present leaf can't be served at all: nothing delays its successor
_UNUSABLE: Final[tuple[tuple[str, _Check], ...]] = (
    ("missing", lambda case: case.serving is None or not case.serving.chain),
    ("unreadable", lambda case: case.leaf is None),
    ("key-unreadable", lambda case: case.serving is None or case.serving.key is None),
    (
        "key-differs",
        lambda case: _present(case, lambda leaf: not (case.serving and case.serving.key and case.serving.key.belongs_to(leaf))),
    ),
    ("not-yet-valid", lambda case: _present(case, lambda leaf: case.now < leaf.not_before)),
    ("expired", lambda case: _present(case, lambda leaf: case.now >= leaf.not_after)),
    ("issuer-differs", lambda case: _present(case, lambda leaf: not case.issuer.issued(leaf))),
    ("server-name-missing", lambda case: _present(case, lambda leaf: case.state.profile.server_name not in leaf.names)),
)
_UNFIT: Final[tuple[tuple[str, _Check], ...]] = (
    ("outlives-issuer", lambda case: _present(case, lambda leaf: leaf.not_after > case.issuer.not_after)),
    ("name-missing", lambda case: _present(case, lambda leaf: not leaf.names.issuperset(case.state.profile.names))),
    ("profile-changed", lambda case: _present(case, lambda leaf: leaf.key_kind != case.state.profile.key_kind)),
    ("ends-soon", lambda case: _present(case, lambda leaf: case.now >= renewal_time(leaf) and _gains(case, leaf))),
)


def leaf_reason(state: CertificateState, issuer: Certificate, now: datetime) -> str:
    """Why the serving Secret needs a new leaf of `issuer`; empty when it doesn't, or not yet.

    A leaf that can still be served is replaced at most once in timings.LEAF_GUARD, so that no disagreement can turn into a flood.
    """
    if reason := unusable_reason(state, issuer, now):
        return reason
    case = _case(state, issuer, now)
    if case.leaf and now < case.leaf.not_before + state.timings.backdate + LEAF_GUARD:
        return ""
    return _first(_UNFIT, case)


def unusable_reason(state: CertificateState, issuer: Certificate, now: datetime) -> str:
    """Why clients must refuse the leaf of the serving Secret; empty when they needn't."""
    return _first(_UNUSABLE, _case(state, issuer, now))


def _case(state: CertificateState, issuer: Certificate, now: datetime) -> _Leaf:
    return _Leaf(state, state.serving, state.serving.leaf if state.serving else None, issuer, now)


def renewal_time(leaf: Certificate) -> datetime:
    """When a third of its life is left: 122 of 365 days."""
    return leaf.not_after - leaf.life / 3


def _gains(case: _Leaf, leaf: Certificate) -> bool:
    """Whether a new leaf would live longer; one that ends with its authority doesn't, and waits for the next authority."""
    return min(case.now + case.state.timings.leaf_life, case.issuer.not_after) > leaf.not_after


class _Authority(NamedTuple):
    """What predicates on the current authority read."""

    state: CertificateState
    secret: AuthoritySecret
    current: Certificate
    now: datetime


_ROTATE: Final[tuple[tuple[str, Callable[[_Authority], bool]], ...]] = (
    ("key-lost", lambda case: case.secret.current_key is None),
    ("compromised", lambda case: case.secret.reason == "compromised" and (case.secret.hint.phase in RESTING or _requested(case.secret))),
    ("requested", lambda case: _requested(case.secret)),
    ("expiry", lambda case: not case.current.valid_at(case.now)),
    ("adopted", lambda case: case.secret.reason == "adopted" or _weak(case.current)),
    ("expiry", lambda case: case.now >= rotation_time(case.state, case.current) and _guarded(case)),
    ("profile-changed", lambda case: case.current.key_kind != case.state.profile.key_kind and _guarded(case)),
)


def rotation_reason(state: CertificateState, now: datetime) -> str:
    """Why a new authority must follow the current one; empty when none need, and while there is no current one."""
    secret = state.authority
    if secret is None or secret.current is None:
        return ""
    return _first(_ROTATE, _Authority(state, secret, secret.current, now))


def rotation_time(state: CertificateState, authority: Certificate) -> datetime:
    """When an authority's remaining life no longer covers a whole leaf, its drain and a margin; at most a third of its life."""
    ahead = max(state.timings.leaf_life + state.timings.drain + MARGIN, REFERENCE_LOOKAHEAD)
    return authority.not_after - min(ahead, authority.life / 3)


def _requested(secret: AuthoritySecret) -> bool:
    return bool(secret.requested) and secret.requested != secret.handled


def _weak(authority: Certificate) -> bool:
    """The profile of the Go operator's authorities: serial 0, a fixed name and no key id to distinguish them."""
    try:
        authority.parsed.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except (x509.ExtensionNotFound, *UNREADABLE):
        return True
    return authority.parsed.serial_number <= 0 or not authority.is_authority


def _guarded(case: _Authority) -> bool:
    return case.now >= case.current.not_before + case.state.timings.backdate + AUTHORITY_GUARD


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


def _first(chain: tuple[tuple[str, Callable[..., bool]], ...], case: object) -> str:
    return next((name for name, holds in chain if holds(case)), "")


def age_of(since: datetime | None, now: datetime) -> timedelta | None:
    """The time that has passed; None when `since` is unknown or in the future, as after a clock was set back."""
    return now - since if since is not None and since <= now else None
