"""Readiness, problems, conditions and gauges for people and monitors."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from . import names, provided
from .certificate import Certificate, read_certificates
from .policy import age_of, derive, has_converged, is_outage, is_probing_impossible, list_foreign_endpoints, may_sign, unusable_reason
from .state import SKEW_WARN, CertificateState, Mode, Ownership, Phase, Target
from .trust import choose_bundle, holds, is_synced, is_trusted_everywhere, list_own_authorities, list_presented_leaves, list_unsynced

NOT_USABLE: Final = "not-usable"  # the cause that ends by itself


class Report(NamedTuple):
    """One problem. The same report is sent once, and again only when its text changes."""

    reason: str  # an Event's reason
    text: str


def phase_of(state: CertificateState, now: datetime) -> Phase:
    """The phase in any mode; where nothing is ours, STABLE."""
    if state.mode is Mode.MANAGED:
        return derive(state, now)
    return provided.phase(state, now) if state.mode is Mode.PROVIDED else Phase.STABLE


def bundle_of(state: CertificateState, now: datetime) -> bytes:
    """The bundle that every object must have, in any mode; empty if unknown."""
    if state.mode is Mode.MANAGED:
        return choose_bundle(state, derive(state, now), now)
    if state.mode is Mode.PROVIDED:
        return provided.bundle_of(state, now)
    return b"".join(authority.pem for authority in _needed(state))


def _needed(state: CertificateState) -> tuple[Certificate, ...]:
    """The authorities of the certificate in the serving Secret."""
    if state.serving is None or state.serving.leaf is None:
        return ()
    return provided.issuers_of(state, provided.list_trusted_authorities(state), (state.serving.leaf,))


def _trusting(state: CertificateState, target: Target) -> bool:
    needed = _needed(state)
    return bool(needed) and all(holds(bundle, needed) for bundle in target.bundles)


def find_unready_cause(state: CertificateState, now: datetime) -> tuple[str, str] | None:
    """The first cause for which requests of the API server may fail, as a name and a sentence; None when there is none."""
    return next(((name, text) for name, text in _causes(state, now) if text), None)


def explain_not_up(state: CertificateState, now: datetime) -> str:
    """Explains why the first write after an installation would fail; empty when it would not. Absent objects don't count."""
    if state.endpoints is not None and not any(endpoint.ready for endpoint in state.endpoints):
        return "no server is ready behind the Service"
    bundle, mode = bundle_of(state, now), state.mode
    if mode is Mode.EXTERNAL_INJECTION:
        return ""  # trust is published externally, at an unknown time
    return "" if bundle and is_trusted_everywhere(state, bundle) else "the trust is not published to every configuration object yet"


def list_reports(state: CertificateState, now: datetime, *, installing: bool = False) -> tuple[Report, ...]:
    """All current problems that waiting may not repair; while objects are `installing`, waiting repairs their absence."""
    absent = "" if installing else _describe_owned(state, Ownership.ABSENT, "does not exist; it is written once it exists")
    untrusting = _named(state, "doesn't trust the certificate", lambda target: not _trusting(state, target))
    problems = (
        Report("ClockSkew", _skew_text(state) if abs(state.skew) > SKEW_WARN else ""),
        Report("WebhookConfigMissing", absent),
        Report("WebhookConfigMissing", _describe_owned(state, Ownership.FOREIGN, "points to another service and is left alone")),
        Report("ObjectImmutable", f"{', '.join(state.fixed)}: the next write deletes it and creates it again" if state.fixed else ""),
        Report("CARotationStuck", _stuck(state, now)),
        Report("TrustMismatch", untrusting if state.mode is Mode.EXTERNAL_INJECTION else ""),
    )
    return tuple(problem for problem in problems if problem.text)


def make_gauges(state: CertificateState, now: datetime) -> dict[str, dict[tuple[str, ...], float]]:
    """The gauges that follow from facts, by name and values of labels; steps count counters. docs/metrics.md lists them."""
    bundle, leaf = bundle_of(state, now), state.serving.leaf if state.serving else None
    needed = read_certificates(bundle)
    authorities = list_own_authorities(state.authority) if state.authority else provided.list_trusted_authorities(state)
    standing = []
    for target in state.targets:
        synced = _trusting(state, target) if state.mode is Mode.EXTERNAL_INJECTION else is_synced(target, bundle, needed)
        standing.append(((target.kind.value, target.name), target.ownership is Ownership.ABSENT, synced))
    return {
        "rotation_phase": {(phase.value,): float(phase is phase_of(state, now)) for phase in Phase},
        "clock_skew_seconds": {(): state.skew.total_seconds()},
        "roll_stuck": {(): float(bool(_stuck(state, now)))},
        "probe_unavailable": {(): float(is_probing_impossible(state))},
        "leaf_not_after_seconds": {(): leaf.not_after.timestamp()} if leaf else {},
        "ca_not_after_seconds": {(authority.common_name,): authority.not_after.timestamp() for authority in authorities},
        "expected_objects_missing": {labels: float(absent) for labels, absent, _ in standing},
        "trust_in_sync": {labels: float(synced and not absent) for labels, absent, synced in standing},
        "trust_mismatch": {labels: float(not synced and not absent) for labels, absent, synced in standing},
        "endpoint_leaf_in_sync": {(endpoint.address,): float(endpoint.leaf == leaf) for endpoint in state.endpoints or ()},
    }


def _stuck(state: CertificateState, now: datetime) -> str:
    """The reason that delays a rotation beyond `roll_warn`, or an empty string."""
    phase = phase_of(state, now)
    lasted = age_of(state.hint.since, now)
    if phase not in {Phase.TRUST, Phase.ROLL} or lasted is None or lasted < state.timings.roll_warn:
        return ""
    bundle = bundle_of(state, now)
    if not is_trusted_everywhere(state, bundle):
        objects = (
            f"{target.kind} {target.name}" + (f" ({target.refused})" if target.refused else "") for target in list_unsynced(state, bundle)
        )
        return f"phase {phase}: the bundle can't be written to {', '.join(objects)}"
    if state.mode is not Mode.MANAGED or has_converged(state):
        return ""
    silent = [endpoint.address for endpoint in state.endpoints or () if endpoint.leaf is None]
    parts = [f"{', '.join(list_foreign_endpoints(state))} still present an older certificate"] if list_foreign_endpoints(state) else []
    parts += [f"{', '.join(silent)} don't answer"] if silent else []
    return f"phase {phase}: {'; '.join(parts)}" if parts else ""


def _leaf_text(state: CertificateState, now: datetime) -> str:
    issuer = next(iter(_needed(state)), None)
    if issuer is None or state.serving is None or state.serving.leaf is None:
        return ""
    if state.mode is Mode.MANAGED:
        reason = unusable_reason(state, issuer, now)
    elif not state.serving.leaf.valid_at(now):
        reason = "it is not valid now"
    elif state.profile.server_name not in state.serving.leaf.names:
        reason = f"it must name {state.profile.server_name}"
    else:
        reason = "" if state.serving.key and state.serving.key.belongs_to(state.serving.leaf) else "tls.key is not its key"
    dead = list_presented_leaves(state) and is_outage(state, now) if state.mode is Mode.MANAGED else False
    return f"the certificate must be replaced: {reason}" if reason else ("no endpoint presents a valid certificate" if dead else "")


def _named(state: CertificateState, ending: str, wrong: Callable[[Target], bool]) -> str:
    objects = [f"{target.kind} {target.name}" for target in state.targets if wrong(target)]
    return f"{', '.join(objects)} {ending}" if objects else ""


def _describe_owned(state: CertificateState, ownership: Ownership, ending: str) -> str:
    return _named(state, ending, lambda target: target.ownership is ownership)


def _skew_text(state: CertificateState) -> str:
    return f"this machine's clock must agree with the API server's, and differs by {state.skew.total_seconds():.0f} s"


def _causes(state: CertificateState, now: datetime) -> Iterator[tuple[str, str]]:
    """Name and sentence of each cause, empty where there is none, in their order: the first explains the later ones."""
    yield "clock-differs", "" if may_sign(state) else _skew_text(state)
    lost = state.mode is Mode.MANAGED and not (state.authority and state.authority.current)
    yield "authority-missing", "the CA Secret is missing" if lost else ""
    there = state.serving and state.serving.leaf
    yield "certificate-missing", "" if there else "the serving Secret is missing or holds no certificate"
    yield "trust-unknown", "" if _needed(state) else "ca.crt must hold the authority of tls.crt"
    yield "certificate-unusable", _leaf_text(state, now)
    yield "object-missing", _describe_owned(state, Ownership.ABSENT, "is not there")
    yield "object-foreign", _describe_owned(state, Ownership.FOREIGN, "points to another service")
    yield "conversion-unset", _describe_owned(state, Ownership.UNSET, "has no conversion by webhook")
    yield "trust-differs", _named(state, "doesn't trust the certificate", lambda target: not _trusting(state, target))
    known = state.trust.usable if state.trust else None
    usable = known is None or any(authority.fingerprint in known for authority in _needed(state))
    yield NOT_USABLE, "" if usable else "the authority of the new certificate has not been trusted long enough to be used"


def format_conditions(state: CertificateState, now: datetime) -> str:
    """A JSON list: first `Ready`, then one condition for each report; no times, so that the same facts give the same text."""
    cause = find_unready_cause(state, now)
    reason, text = cause or ("Ready", "every request of the API server is trusted and served")
    entries = [{"type": "Ready", "status": "False" if cause else "True", "reason": reason, "message": text}]
    entries += [{"type": each.reason, "status": "True", "reason": each.reason, "message": each.text} for each in list_reports(state, now)]
    return json.dumps(entries, separators=(",", ":"), ensure_ascii=False)


def read_conditions(obj: Mapping[str, Any]) -> list[dict[str, str]]:
    """The conditions that an object carries; empty when there are none or they can't be read."""
    text = ((obj.get("metadata") or {}).get("annotations") or {}).get(names.CONDITIONS, "")
    try:
        entries = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return []
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
