"""A storm over the two replicas of a site, with a writer and a reader behind the API server."""

import asyncio

from tests.cluster.load import Load
from tests.cluster.provisioning import NAMESPACE, SERVICE
from tests.cluster.webhooks.faults import Site
from tests.hostile.storm.generator import Order, Target
from tests.hostile.storm.storm import Attacked, Outcome, storm


def attack(site: Site, order: Order) -> tuple[list[str], list[Outcome]]:
    """What went wrong for clients of the API server, and what each replica went through."""
    authority = site.installed.current().pem.decode()
    servers = []
    for replica in site.replicas.values():
        probes, metrics = (int(replica.said(what).rpartition(":")[2]) for what in ("probes", "metrics"))
        at = Target((site.installed.address,), replica.port, probes, metrics)
        servers.append(Attacked(replica.process.pid, at, authority, f"{SERVICE}.{NAMESPACE}.svc"))
    load = Load(site.installed.plane, site.installed.plane.namespace())
    load.start()
    try:
        load.wait_for(50)
        load.longest = 0.0
        outcomes = asyncio.run(storm(servers, order))
        longest = load.longest
        load.wait_for(50)
    finally:
        load.stop()
    print(f"{load.done} requests by the API server, the longest took {longest:.2f} s")
    lost = [f"{name} is not ready" for name in site.replicas if not site.heard[name]]
    return [*lost, *map(str, load.failures)], outcomes
