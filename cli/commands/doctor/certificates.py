"""Checks certificates, and the processes that present and renew them: Secrets, dates, trust, rotation, Service and Lease."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from ....certs.certificate import Certificate, read_certificates
from ....certs.delivery import PairContent, Source, accept
from ....certs.files import PairError
from ....certs.policy import age_of
from ....certs.report import NOT_USABLE, list_reports
from ....certs.state import DAY, MINUTE, CertificateState, Endpoint, Mode, Ownership, Phase, Serving, Target, TargetKind
from ....certs.trust import list_presented_leaves
from ....kube.lease import MAX_LEASE_FACTOR
from ....kube.protocol import Node
from ....kube.times import parse_time
from . import repairs
from .finding import DoctorFinding, error, info, warning
from .observe import ClusterView

SOON: Final = 90 * DAY  # an authority that ends within this time should have been replaced
PROVISIONER_DELAY: Final = MINUTE  # until the provisioner acts
_OWN_WORDS: Final = frozenset({"WebhookConfigMissing"})  # other checks report it more exactly
_MAX_MISSED_RENEWALS: Final = 4  # of a Lease in a row; beyond, its holder is dead
_LEASE_SECONDS: Final = 15.0  # of the provisioner


def check_secrets(view: ClusterView) -> Iterator[DoctorFinding]:
    """The serving Secret holds what a server accepts, for long enough, from an authority that can sign again."""
    state, where = view.state, view.namespace
    if state is None:
        return
    what, repair = f"Secret {where}/{view.about.names.serving}", repairs.run_certs("issue", where)
    if state.mode is not Mode.MANAGED:
        repair = ""  # its provider must renew it
    if state.serving is None:
        yield error("certificate", what, "is not there: servers that start now have nothing to serve", repair)
    else:
        yield from _serving(view, state.serving, what, repair)
    if state.mode is Mode.MANAGED:
        yield from _authority(view, state)


def _serving(view: ClusterView, serving: Serving, what: str, repair: str) -> Iterator[DoctorFinding]:
    key = serving.key.pem if serving.key else b""
    try:
        accepted = accept(PairContent(serving.chain, key, serving.bundle), Source.API, view.about.profile.server_name, view.now)
    except PairError as wrong:
        yield error("certificate", what, str(wrong), repair)
        return
    if accepted.leaf.not_after - view.now < accepted.leaf.life / 3:
        text = f"{what.partition(' ')[2]} ends at {accepted.leaf.not_after:%Y-%m-%d %H:%M} UTC, and should have been renewed"
        yield warning("expiry", what, text, repair)
    if serving.holds_authority_key:
        text = "holds ca.key, with which every reader could sign any certificate"
        yield warning("certificate", what, text, repairs.run_certs("rotate", view.namespace))
    trust = view.state.trust if view.state else None
    if trust is not None and not accepted.authorities & trust.usable:
        where = f"ConfigMap {view.namespace}/{view.about.names.trust}"
        if _is_spreading(view):
            yield info("trust", where, "doesn't list the issuer of the certificate as usable yet: every API server must have seen it first")
            return
        text = "doesn't list the issuer of the certificate as usable: a server without another one waits for five minutes"
        yield warning("trust", where, text, repairs.run_certs("inject", view.namespace))


def _is_spreading(view: ClusterView) -> bool:
    """Whether a new issuer has become known so recently that the provisioner still waits for those who must trust it."""
    state = view.state
    if state is None or state.mode is Mode.MANAGED or state.hint.phase not in {Phase.TRUST, Phase.SETTLE}:
        return False
    lasted = age_of(state.hint.since, view.now)
    return lasted is not None and lasted < state.timings.settle + PROVISIONER_DELAY


def _authority(view: ClusterView, state: CertificateState) -> Iterator[DoctorFinding]:
    what, repair = f"Secret {view.namespace}/{view.about.names.authority}", repairs.run_certs("rotate", view.namespace)
    secret = state.authority
    if secret is None or secret.current is None:
        again = repairs.restart(view.namespace, "provisioner")
        yield error("authority", what, "is not there, or holds no certificate: nothing can be renewed", again)
        return
    if secret.current_key is None:
        yield warning("authority", what, "current.key is missing or belongs to another certificate: nothing can be renewed", repair)
    if secret.current.not_after <= view.now:
        yield error("expiry", what, f"the authority has expired at {secret.current.not_after:%Y-%m-%d %H:%M} UTC", repair)
    elif secret.current.not_after - view.now < SOON:
        text = f"the authority ends at {secret.current.not_after:%Y-%m-%d %H:%M} UTC, and should have been replaced"
        yield warning("expiry", what, text, repair)


def check_trust(view: ClusterView) -> Iterator[DoctorFinding]:
    """Every configuration object leads to us, and trusts each certificate that is presented, or else the one in the Secret."""
    state = view.state
    if state is None:
        return
    chain = read_certificates(state.serving.chain) if state.serving else ()
    leaves = list_presented_leaves(state) or chain[:1]
    for target in state.targets:
        yield from _target(view, target, leaves, chain)


def _target(view: ClusterView, target: Target, leaves: tuple[Certificate, ...], chain: tuple[Certificate, ...]) -> Iterator[DoctorFinding]:
    what, inject = f"{target.kind} {target.name}", repairs.run_certs("inject", view.namespace)
    profile = view.about.profile
    if target.ownership is Ownership.UNSET:
        text = f"spec.conversion must call the Service {profile.namespace}/{profile.service}: without it fields are lost between versions"
        yield error("conversion", what, text, inject)
    elif target.ownership is Ownership.FOREIGN and target.kind is TargetKind.CRD:
        text = f"spec.conversion must call the Service {profile.namespace}/{profile.service}; it calls another one and is left unchanged"
        text += ", unless the configuration has certificates.takeOverConversion"
        yield error("conversion", what, text, f"{repairs.convert_by(target.name, profile)} && {inject}")
    elif target.ownership is Ownership.ANNOTATED:
        yield info("trust", what, "cert-manager writes its bundle; the provisioner only compares it")
    if target.ownership not in {Ownership.OURS, Ownership.ANNOTATED}:
        return
    repair = inject if target.ownership is Ownership.OURS else ""
    for bundle in dict.fromkeys(target.bundles):
        authorities = read_certificates(bundle)
        if not authorities:
            yield error("trust", what, "caBundle must hold the authority of our certificate, and holds no certificate", repair)
            continue
        for leaf in leaves:
            if not any(authority.issued(each) for authority in authorities for each in (leaf, *(chain if leaf in chain else ()))):
                text = f"caBundle must hold the authority of certificate {leaf.parsed.serial_number:x}, which is served, and holds others"
                yield error("trust", what, text, repair)


def check_rotation(view: ClusterView) -> Iterator[DoctorFinding]:
    """Report the state of a rotation, by the facts and by what the provisioner wrote."""
    if view.state is None:
        return
    where, called = view.namespace, view.about.names
    # where others make the certificates, there is no CA Secret, and the provisioner writes its conditions to the ConfigMap
    what = f"Secret {where}/{called.authority}" if view.state.mode is Mode.MANAGED else f"ConfigMap {where}/{called.trust}"
    for each in list_reports(view.state, view.now):
        if each.reason not in _OWN_WORDS:
            again = repairs.restart(where, "server") if each.reason == "CARotationStuck" else ""
            yield warning("rotation", what, f"{each.reason}: {each.text}", again)
    for condition in view.conditions:
        is_expected = condition.get("reason") == NOT_USABLE and _is_spreading(view)
        if condition.get("type") == "Ready" and condition.get("status") == "False" and not is_expected:
            yield warning("provisioner", what, f"it says: {condition.get('message', '')}")


def check_endpoints(view: ClusterView) -> Iterator[DoctorFinding]:
    """The Service has the port that the API server calls, and ready servers behind it."""
    where, service = view.namespace, view.about.profile.service
    what, command = f"Service {where}/{service}", repairs.show_status(where, "server")
    if view.service is None:
        if "service" not in view.forbidden:
            yield error("endpoints", what, "is not there: no webhook can be called", view.parts.restore("Service", service))
        return
    if repairs.PORT not in [port.get("port") for port in (view.service.get("spec") or {}).get("ports") or ()]:
        text = f"spec.ports must have port {repairs.PORT}, which the configuration objects name"
        yield error("endpoints", what, text, _with_port(view, view.service))
    servers = view.state.endpoints if view.state else None
    if servers is None:
        return
    if not servers:
        yield error("endpoints", what, "has no endpoints: no server runs", command)
    elif not any(each.ready for each in servers):
        yield error("endpoints", what, f"has no ready endpoint among {', '.join(each.address for each in servers)}", command)
    for each in servers:
        yield from _endpoint(view, each, command)


def _with_port(view: ClusterView, service: Node) -> str:
    """Gives the port of a Service with one port its number back, and adds it to others."""
    ports = (service.get("spec") or {}).get("ports") or []
    port = {"name": "webhook", "protocol": "TCP", "port": repairs.PORT, "targetPort": "webhook"}
    where, name = view.namespace, view.about.profile.service
    if len(ports) == 1:
        return repairs.patch("Service", name, "/spec/ports/0/port", repairs.PORT, "replace", namespace=where)
    return repairs.patch("Service", name, "/spec/ports/-", port, namespace=where)


def _endpoint(view: ClusterView, endpoint: Endpoint, command: str) -> Iterator[DoctorFinding]:
    state, leaf, what = view.state, endpoint.leaf, f"server {endpoint.address}"
    if leaf is None:
        yield info("endpoints", what, "can't be reached from here: its certificate is unknown")
    elif not leaf.valid_at(view.now):
        yield error("expiry", what, f"presents a certificate that ended at {leaf.not_after:%Y-%m-%d %H:%M} UTC", command)
    elif view.about.profile.server_name not in leaf.names:
        yield error("certificate", what, f"presents a certificate that doesn't name {view.about.profile.server_name}", command)
    elif state and state.serving and state.serving.leaf and leaf != state.serving.leaf:
        text = "presents another certificate than the Secret holds; for minutes after a renewal that is as it should be"
        yield warning("certificate", what, text, repairs.restart(view.namespace, "server"))


def check_provisioner(view: ClusterView) -> Iterator[DoctorFinding]:
    """A provisioner must hold the Lease and renew it."""
    where, name = view.namespace, view.about.names.lease
    what, again = f"Lease {where}/{name}", repairs.restart(where, "provisioner")
    if view.lease is None:
        if "lease" not in view.forbidden:
            yield error("provisioner", what, "is not there: no provisioner has run here yet", repairs.show_status(where, "provisioner"))
        return
    spec = view.lease.get("spec") or {}
    if not spec.get("holderIdentity"):
        yield error("provisioner", what, "has no holder: no provisioner runs", repairs.show_status(where, "provisioner"))
    elif since := describe_late_lease(view.lease, view.now):
        yield error("provisioner", what, f"{spec['holderIdentity']} has not renewed it {since}: nothing is repaired or renewed", again)


def describe_late_lease(lease: Node, now: datetime) -> str | None:
    """Since when a Lease has not been renewed, if its holder has missed several renewals; None while it is renewed."""
    spec = lease.get("spec") or {}
    renewed = parse_time(spec.get("renewTime"))
    late = timedelta(
        seconds=min(float(spec.get("leaseDurationSeconds") or _LEASE_SECONDS), MAX_LEASE_FACTOR * _LEASE_SECONDS) * _MAX_MISSED_RENEWALS
    )
    if renewed is not None and abs(now - renewed) <= late:
        return None
    return f"since {renewed:%Y-%m-%d %H:%M:%S} UTC" if renewed else "ever"


def check_reconciler(view: ClusterView) -> Iterator[DoctorFinding]:
    """A reconciler must hold its Lease and renew it, where one is installed."""
    election, where = view.about.election, view.namespace
    parts = [key for key, _ in view.parts.of_kind("Deployment") if key[2].endswith("-reconciler")]
    if election is None or not any(view.parts.live.get(key) for key in parts):
        return
    what, lease = f"Lease {'/'.join(election)}", view.election
    if lease is None or not (lease.get("spec") or {}).get("holderIdentity"):
        if "election" not in view.forbidden:
            text = "has no holder: no reconciler runs, and graphs stay as they are"
            yield error("reconciler", what, text, repairs.show_status(where, "reconciler"))
    elif since := describe_late_lease(lease, view.now):
        text = f"{lease['spec']['holderIdentity']} has not renewed it {since}: graphs stay as they are"
        yield error("reconciler", what, text, repairs.restart(where, "reconciler"))


def check_scope(view: ClusterView) -> Iterator[DoctorFinding]:
    """Which namespaces other operators have claimed."""
    if view.claims:
        judged = "left alone by the reconciler, and by the webhooks if namespace.scope.claimable names them"
        text = f"claimed by operators of their own, {judged}: {', '.join(view.claims)}"
        yield info("scope", "namespaces", text)
