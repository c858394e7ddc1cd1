"""Checks the processes: a server behind the Service that presents a valid certificate, and a live provisioner."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from ....kube.lease import BELIEVED
from ....kube.times import parse_time
from . import repairs
from .finding import Finding, error, info, warning
from .observe import Sight

MISSED: Final = 4  # renewals of a Lease in a row, by which its holder is dead
LASTING: Final = 15.0  # seconds that a Lease of the provisioner lasts
PORT: Final = 443


def endpoints(sight: Sight) -> Iterator[Finding]:
    """The Service has the port that the API server calls, and ready servers behind it."""
    where, service = sight.namespace, sight.about.profile.service
    what, look = f"Service {where}/{service}", repairs.status(where, "server")
    if sight.service is None:
        if "service" not in sight.unseen:
            yield error("endpoints", what, "is not there: no webhook can be called", repairs.manifests(sight.about))
        return
    if PORT not in [port.get("port") for port in (sight.service.get("spec") or {}).get("ports") or ()]:
        yield error("endpoints", what, f"must have port {PORT}, which the configuration objects name", repairs.manifests(sight.about))
    found = sight.state.endpoints if sight.state else None
    if found is None:
        return
    if not found:
        yield error("endpoints", what, "has no endpoints: no server runs", look)
    elif not any(each.ready for each in found):
        yield error("endpoints", what, f"has no ready endpoint among {', '.join(each.address for each in found)}", look)
    for each in found:
        yield from _endpoint(sight, each.address, look)


def _endpoint(sight: Sight, address: str, look: str) -> Iterator[Finding]:
    state = sight.state
    leaf = next(each.leaf for each in (state.endpoints if state else ()) or () if each.address == address)
    what = f"server {address}"
    if leaf is None:
        yield info("endpoints", what, "can't be reached from here: its certificate is unknown")
    elif not leaf.valid_at(sight.now):
        yield error("expiry", what, f"presents a certificate that ended at {leaf.not_after:%Y-%m-%d %H:%M} UTC", look)
    elif sight.about.profile.server_name not in leaf.names:
        yield error("certificate", what, f"presents a certificate that doesn't name {sight.about.profile.server_name}", look)
    elif state and state.serving and state.serving.leaf and leaf != state.serving.leaf:
        text = "presents another certificate than the Secret holds; for minutes after a renewal that is as it should be"
        yield warning("certificate", what, text, repairs.restart(sight.namespace, "server"))


def provisioner(sight: Sight) -> Iterator[Finding]:
    """A provisioner must hold the Lease and renew it."""
    where, name = sight.namespace, sight.about.called.lease
    what, again = f"Lease {where}/{name}", repairs.restart(where, "provisioner")
    if sight.lease is None:
        if "lease" not in sight.unseen:
            yield error("provisioner", what, "is not there: no provisioner has run here yet", repairs.status(where, "provisioner"))
        return
    spec = sight.lease.get("spec") or {}
    if not spec.get("holderIdentity"):
        yield error("provisioner", what, "has no holder: no provisioner runs", repairs.status(where, "provisioner"))
        return
    renewed = parse_time(spec.get("renewTime"))
    late = timedelta(seconds=min(float(spec.get("leaseDurationSeconds") or LASTING), BELIEVED * LASTING) * MISSED)
    if renewed is None or abs(sight.now - renewed) > late:
        said = f"since {renewed:%Y-%m-%d %H:%M:%S} UTC" if renewed else "ever"
        yield error("provisioner", what, f"{spec['holderIdentity']} has not renewed it {said}: nothing is repaired or renewed", again)


def scope(sight: Sight) -> Iterator[Finding]:
    """Which namespaces other operators have claimed."""
    if sight.claims:
        text = f"claimed by operators of their own, which we leave alone: {', '.join(sight.claims)}"
        yield info("scope", "namespaces", text)
