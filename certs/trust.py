"""Whom configuration objects must trust: the bundle wanted in a phase, and which objects show it. The form of a bundle is bundle.py's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.certs.bundle import LARGEST, compose, holds
from dynamo_webhooks.certs.certificate import read_certificates
from dynamo_webhooks.certs.state import Mode, Phase, Stance, TargetKind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from dynamo_webhooks.certs.certificate import Certificate
    from dynamo_webhooks.certs.state import AuthoritySecret, CertificateState, Target

_ORDER = tuple(TargetKind)
_APPROACH = frozenset({Phase.TRUST, Phase.SETTLE})


def presented(state: CertificateState) -> tuple[Certificate, ...]:
    """The leaves that endpoints presented in the last round."""
    return tuple(dict.fromkeys(endpoint.leaf for endpoint in state.endpoints or () if endpoint.leaf))


def served(state: CertificateState) -> tuple[Certificate, ...]:
    """Leaves that are served or about to be: those presented, and the one in the serving Secret."""
    stored = (state.serving.leaf,) if state.serving and state.serving.leaf else ()
    return tuple(dict.fromkeys((*presented(state), *stored)))


def blind(state: CertificateState) -> bool:
    """Whether somebody may be serving a leaf that we can't see."""
    return state.endpoints is None or any(endpoint.ready and not endpoint.leaf for endpoint in state.endpoints)


def ours(secret: AuthoritySecret) -> tuple[Certificate, ...]:
    """The authorities of the CA Secret: current, next, previous."""
    return tuple(filter(None, (secret.current, secret.next, *secret.previous)))


def seen(state: CertificateState) -> tuple[Certificate, ...]:
    """Every authority that stands anywhere, the most trustworthy places first."""
    places = [ours(state.authority) if state.authority else ()]
    places.append(state.serving.authorities if state.serving else ())
    places.append(read_certificates(state.trust.bundle) if state.trust else ())
    places += [read_certificates(bundle) for target in state.targets for bundle in target.bundles]
    return tuple(dict.fromkeys(one for place in places for one in place if one.is_authority))


def issuers(candidates: Iterable[Certificate], leaves: Iterable[Certificate]) -> tuple[Certificate, ...]:
    """Those candidates that issued any of the leaves."""
    every = tuple(leaves)
    return tuple(one for one in candidates if any(one.issued(leaf) for leaf in every))


def survivors(state: CertificateState) -> tuple[Certificate, ...]:
    """The old authorities to keep trusting when the CA Secret is lost: those that issued what is served.

    When not every endpoint could be seen, all authorities that were published last are kept as well.
    """
    everything = seen(state)
    kept = issuers(everything, served(state))
    if blind(state):
        kept += state.serving.authorities if state.serving and state.serving.authorities else everything
    return tuple(dict.fromkeys(one for one in kept if one.is_authority))[: LARGEST - 1]


def stored_by(state: CertificateState, authority: Certificate) -> bool:
    """Whether the authority issued the leaf of the serving Secret."""
    return bool(state.serving and state.serving.leaf and authority.issued(state.serving.leaf))


def orphaned(state: CertificateState) -> bool:
    """Whether a lost CA Secret was being replaced and somebody then removed the old authorities that it still remembered.

    Their leaves are served all the same, and objects may not know the new authority yet: it must not sign before they do.
    """
    secret = state.authority
    if secret is None or secret.current is None or secret.next or secret.previous or state.hint.phase not in _APPROACH:
        return False
    if state.serving and state.serving.leaf:
        return not stored_by(state, secret.current)
    return bool(presented(state)) and not issuers((secret.current,), presented(state))


def wanted(state: CertificateState, phase: Phase, now: datetime) -> bytes:
    """The bundle T of a phase: ours first, and a stranger's authority only while an endpoint presents a leaf of it."""
    secret = state.authority
    if secret is None or secret.current is None:
        return b""
    mine = [secret.current]
    if phase is not Phase.DROP:
        mine += [secret.next] if secret.next and (secret.next_key or secret.next in issuers((secret.next,), served(state))) else []
        mine += secret.previous
    leaves = served(state) if orphaned(state) else presented(state)
    strangers = issuers((one for one in seen(state) if one not in mine), leaves)
    return compose((*mine, *strangers), served(state), now)


def shows(target: Target, bundle: bytes, needed: Iterable[Certificate]) -> bool:
    """Whether an object trusts what it must: exactly the bundle, or where cert-manager writes at least the authorities needed.

    Objects that are absent or point elsewhere trust nobody on our behalf, and need not.
    """
    if target.stance in {Stance.ABSENT, Stance.FOREIGN}:
        return True
    if target.stance is Stance.ANNOTATED:
        return all(holds(one, needed) for one in target.bundles)
    return target.stance is Stance.OURS and all(one == bundle for one in target.bundles)


def unsynced(state: CertificateState, bundle: bytes) -> tuple[Target, ...]:
    """The objects that don't show the bundle, in the order in which they are to be written."""
    # cert-manager never overlaps authorities: in `provided` its objects show the new one alone
    needed = state.serving.authorities if state.mode is Mode.PROVIDED and state.serving else read_certificates(bundle)
    wrong = (one for one in state.targets if not shows(one, bundle, needed))
    return tuple(sorted(wrong, key=lambda one: (_ORDER.index(one.kind), one.name)))


def everywhere(state: CertificateState, bundle: bytes) -> bool:
    """Whether every object that can trust us does."""
    return not unsynced(state, bundle)
