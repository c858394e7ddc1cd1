"""The next step with external certificates: publish the serving Secret's authorities before its leaf is served, or only compare."""

from collections.abc import Iterator
from datetime import datetime

from .certificate import Certificate, read_certificates
from .policy import age_of
from .shared_steps import wait, write_bundles, write_trust
from .state import MIN_AGREEING_ROUNDS, CertificateState, Mode, Ownership, Phase
from .step import MarkPhase, NoStep, Step, Wait, WriteTrust
from .trust import blind, compose_bundle, fingerprints, holds, is_trusted_everywhere, issuers, list_authorities, list_presented_leaves

NO_TRUST = "the serving Secret must hold ca.crt, or its authority must be configured; without it there is no bundle to publish"


def next_step(state: CertificateState, now: datetime) -> Step:
    """The one thing to do now. The writer of the Secret swaps leaf and authority at once; `usable` makes servers wait for the trust."""
    if state.mode is Mode.EXTERNAL_INJECTION:
        return next(_compare(state, now))
    return next(_publish(state, now))


def list_trusted_authorities(state: CertificateState) -> tuple[Certificate, ...]:
    """The authorities to trust: all of the Secret's ca.crt, or the configured ones."""
    inside = state.serving.authorities if state.serving else ()
    return inside or read_certificates(state.configured_trust)


def bundle_of(state: CertificateState, now: datetime) -> bytes:
    """The provided authorities, and older ones while a leaf of theirs may be served; without a serving Secret the bundle published last."""
    new = list_trusted_authorities(state)
    if not new and state.serving is None and state.trust:
        return state.trust.bundle
    leaves = list_presented_leaves(state)
    published = read_certificates(state.trust.bundle) if state.trust else ()
    kept = issuers_of(state, list_authorities(state), leaves)
    if _uncertain(state, now):
        kept += published if state.trust or not blind(state) else list_authorities(state)
    return compose_bundle((*new, *kept), leaves, now) if new else b""


def issuers_of(state: CertificateState, candidates: tuple[Certificate, ...], leaves: tuple[Certificate, ...]) -> tuple[Certificate, ...]:
    """The candidates that issued any of the leaves, directly or through intermediates in tls.crt."""
    chain = read_certificates(state.serving.chain)[1:] if state.serving else ()
    reached = leaves
    for _ in chain:
        reached = tuple(dict.fromkeys((*reached, *issuers(chain, reached))))
    return issuers(candidates, reached)


def phase(state: CertificateState, now: datetime) -> Phase:
    """TRUST until every object shows the bundle, SETTLE until each API server has seen it, ROLL while old leaves are served, STABLE."""
    bundle = bundle_of(state, now)
    if not bundle or state.serving is None:
        return Phase.BOOTSTRAP
    new = _new_here(state)
    if not new:
        return Phase.STABLE if set(read_certificates(bundle)) <= set(list_trusted_authorities(state)) else Phase.ROLL
    if not is_trusted_everywhere(state, bundle):
        return Phase.TRUST
    lasted = age_of(state.hint.since, now) if state.hint.phase is Phase.SETTLE else None
    settled = lasted is not None and lasted >= state.timings.settle
    return Phase.ISSUE if settled or _is_waiting_idle(state, new, now) else Phase.SETTLE


def _is_waiting_idle(state: CertificateState, new: tuple[Certificate, ...], now: datetime) -> bool:
    """Whether waiting would prevent no failure: no older authority is trusted, or no certificate of one is served.

    So it is in a new installation, also if servers start before there is a gate.
    """
    if set(list_authorities(state)) <= set(new):
        return True
    older = (leaf for leaf in list_presented_leaves(state) if leaf.valid_at(now) and not issuers_of(state, new, (leaf,)))
    return not blind(state) and not any(older)


def _publish(state: CertificateState, now: datetime) -> Iterator[Step]:
    bundle = bundle_of(state, now)
    if state.serving is None:
        yield NoStep("the serving Secret must exist: an external issuer writes it in this mode")
        return
    if not bundle:
        yield NoStep(NO_TRUST)
        return
    now_in = phase(state, now)
    usable = _usable(state)
    if now_in is Phase.TRUST and state.hint.phase is Phase.SETTLE:
        yield MarkPhase(Phase.TRUST)  # before the repair: a crash in between must not leave an old timer running
    if state.trust is None:
        yield WriteTrust(b"", usable)  # first of all the gate: without it servers would use a new leaf at once
    yield from write_bundles(state, bundle, "rotation" if now_in is Phase.TRUST else "drift")
    if now_in is Phase.ISSUE:
        usable |= fingerprints(list_trusted_authorities(state))
    elif now_in is Phase.STABLE:
        usable = fingerprints(list_trusted_authorities(state))
    yield from write_trust(state, bundle, usable)
    marked = Phase.STABLE if now_in is Phase.ISSUE else now_in
    if state.hint.phase is not marked or age_of(state.hint.since, now) is None:
        yield MarkPhase(marked)
    lasting = state.timings.settle if now_in is Phase.SETTLE else state.timings.resync
    yield wait(state, now, lasting, "the serving Secret is managed externally")


def _compare(state: CertificateState, now: datetime) -> Iterator[Step]:
    """Only keeps open a gate that an earlier mode left; everything else is managed externally."""
    issuing = issuers_of(state, list_trusted_authorities(state), (state.serving.leaf,)) if state.serving and state.serving.leaf else ()
    expected = [target for target in state.targets if target.ownership in {Ownership.OURS, Ownership.ANNOTATED}]
    shown = bool(issuing) and bool(expected) and all(holds(bundle, issuing) for target in expected for bundle in target.bundles)
    if state.trust and shown and (more := fingerprints(issuing) - state.trust.usable):
        yield WriteTrust(state.trust.bundle, state.trust.usable | more)
    yield Wait(now + state.timings.resync, "certificates and trust are managed externally; differences are reported")


def _new_here(state: CertificateState) -> tuple[Certificate, ...]:
    """The provided authorities that are not yet listed as usable for servers."""
    known = state.trust.usable if state.trust else frozenset()
    return tuple(authority for authority in list_trusted_authorities(state) if authority.fingerprint not in known)


def _usable(state: CertificateState) -> frozenset[str]:
    """Withdraws permission only when no replica serves the leaf; an absent ConfigMap permits every served leaf."""
    if state.trust is not None:
        return state.trust.usable
    known = (*list_trusted_authorities(state), *list_authorities(state))
    return fingerprints(issuers_of(state, known, list_presented_leaves(state)))


def _uncertain(state: CertificateState, now: datetime) -> bool:
    """Whether an old leaf may still be served unseen: too few rounds, a silent endpoint, or unsettled trust in the new issuer."""
    if _new_here(state):
        return True
    quiet = blind(state) or any(endpoint.leaf is None or endpoint.rounds < MIN_AGREEING_ROUNDS for endpoint in state.endpoints or ())
    lasted = age_of(state.hint.since, now) if state.hint.phase in {Phase.STABLE, Phase.ROLL} else None
    return quiet and (lasted is None or lasted < state.timings.drain)
