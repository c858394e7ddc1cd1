"""The bundle that configuration objects must trust in a phase, in its one form (same content, same bytes), and who shows it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from .certificate import Certificate, read_certificates
from .state import AuthoritySecret, CertificateState, Mode, Ownership, Phase, Target, TargetKind

_ORDER = tuple(TargetKind)
_APPROACH = frozenset({Phase.TRUST, Phase.SETTLE})
MAX_AUTHORITIES: Final = 4  # more at once mean that something turns in circles


def compose_bundle(authorities: Iterable[Certificate], served: Iterable[Certificate], now: datetime) -> bytes:
    """Writes authorities as PEM in their order, each once, at most four; expired ones only while they issued a leaf still served.

    Never empty unless nothing was given: an empty bundle means the roots of the system, which don't know us. When there are too many,
    the first two stay (they carry the rotation), then those that issued a served leaf, then the others.
    """
    leaves = tuple(served)
    unique = tuple(dict.fromkeys(authorities))
    kept = tuple(authority for authority in unique if authority.not_after > now or issuers((authority,), leaves)) or unique[:1]
    if len(kept) > MAX_AUTHORITIES:
        more = sorted(kept[2:], key=lambda authority: not issuers((authority,), leaves))[: MAX_AUTHORITIES - 2]
        kept = (*kept[:2], *(authority for authority in kept[2:] if authority in more))
    return b"".join(authority.pem for authority in kept)


def holds(bundle: bytes, authorities: Iterable[Certificate]) -> bool:
    """Whether a bundle trusts all of these; all its blocks are read."""
    return set(authorities) <= set(read_certificates(bundle))


def list_presented_leaves(state: CertificateState) -> tuple[Certificate, ...]:
    """The leaves that endpoints presented in the last round."""
    return tuple(dict.fromkeys(endpoint.leaf for endpoint in state.endpoints or () if endpoint.leaf))


def list_served_leaves(state: CertificateState) -> tuple[Certificate, ...]:
    """Leaves that are served or about to be: those presented, and the one in the serving Secret."""
    stored = (state.serving.leaf,) if state.serving and state.serving.leaf else ()
    return tuple(dict.fromkeys((*list_presented_leaves(state), *stored)))


def blind(state: CertificateState) -> bool:
    """Whether an unseen leaf may be served."""
    return state.endpoints is None or any(endpoint.ready and not endpoint.leaf for endpoint in state.endpoints)


def list_own_authorities(secret: AuthoritySecret) -> tuple[Certificate, ...]:
    """The authorities of the CA Secret: current, next, previous."""
    return tuple(filter(None, (secret.current, secret.next, *secret.previous)))


def list_authorities(state: CertificateState) -> tuple[Certificate, ...]:
    """Every known authority, those from the most trustworthy objects first."""
    places = [list_own_authorities(state.authority) if state.authority else ()]
    places.append(state.serving.authorities if state.serving else ())
    places.append(read_certificates(state.trust.bundle) if state.trust else ())
    places += [read_certificates(bundle) for target in state.targets for bundle in target.bundles]
    return tuple(dict.fromkeys(authority for place in places for authority in place if authority.is_authority))


def fingerprints(authorities: Iterable[Certificate | None]) -> frozenset[str]:
    """Those of the authorities that there are."""
    return frozenset(authority.fingerprint for authority in authorities if authority)


def issuers(candidates: Iterable[Certificate], leaves: Iterable[Certificate]) -> tuple[Certificate, ...]:
    """Those candidates that issued any of the leaves."""
    every = tuple(leaves)
    return tuple(candidate for candidate in candidates if any(candidate.issued(leaf) for leaf in every))


def list_survivors(state: CertificateState) -> tuple[Certificate, ...]:
    """The old authorities to keep trusting when the CA Secret is lost: the issuers of served leaves.

    When not every endpoint could be seen, all authorities that were published last are kept as well.
    """
    everything = list_authorities(state)
    kept = issuers(everything, list_served_leaves(state))
    if blind(state):
        kept += state.serving.authorities if state.serving and state.serving.authorities else everything
    return tuple(dict.fromkeys(authority for authority in kept if authority.is_authority))[: MAX_AUTHORITIES - 1]


def is_issued_by(state: CertificateState, authority: Certificate) -> bool:
    """Whether the authority issued the leaf of the serving Secret."""
    return bool(state.serving and state.serving.leaf and authority.issued(state.serving.leaf))


def is_orphaned(state: CertificateState) -> bool:
    """Whether the old authorities were removed from a CA Secret while it replaced a lost one.

    Their leaves are served all the same, and objects may not know the new authority yet: it must not sign before they do.
    """
    secret = state.authority
    if secret is None or secret.current is None or secret.next or secret.previous or state.hint.phase not in _APPROACH:
        return False
    if state.serving and state.serving.leaf:
        return not is_issued_by(state, secret.current)
    return bool(list_presented_leaves(state)) and not issuers((secret.current,), list_presented_leaves(state))


def choose_bundle(state: CertificateState, phase: Phase, now: datetime) -> bytes:
    """The bundle of a phase: own authorities first, and a foreign one only while an endpoint presents a leaf of it."""
    secret = state.authority
    if secret is None or secret.current is None:
        return b""
    mine = [secret.current]
    if phase is not Phase.DROP:
        if secret.next and (secret.next_key or issuers((secret.next,), list_served_leaves(state))):
            mine.append(secret.next)
        mine += secret.previous
    leaves = list_served_leaves(state) if is_orphaned(state) else list_presented_leaves(state)
    foreign = issuers((authority for authority in list_authorities(state) if authority not in mine), leaves)
    return compose_bundle((*mine, *foreign), list_served_leaves(state), now)


def is_synced(target: Target, bundle: bytes, needed: Iterable[Certificate]) -> bool:
    """Whether an object has exactly the bundle, where cert-manager writes it the authorities needed, or needs none, absent or foreign."""
    if target.ownership in {Ownership.ABSENT, Ownership.FOREIGN}:
        return True
    if target.ownership is Ownership.ANNOTATED:
        return all(holds(shown, needed) for shown in target.bundles)
    return target.ownership is Ownership.OURS and all(shown == bundle for shown in target.bundles)


def list_unsynced(state: CertificateState, bundle: bytes) -> tuple[Target, ...]:
    """The objects that don't show the bundle, in the order in which they are to be written."""
    # cert-manager never overlaps authorities: in `provided` its objects show the new one alone
    needed = state.serving.authorities if state.mode is Mode.PROVIDED and state.serving else read_certificates(bundle)
    wrong = (target for target in state.targets if not is_synced(target, bundle, needed))
    return tuple(sorted(wrong, key=lambda target: (_ORDER.index(target.kind), target.name)))


def is_trusted_everywhere(state: CertificateState, bundle: bytes) -> bool:
    """Whether every object that can trust us does."""
    return not list_unsynced(state, bundle)
