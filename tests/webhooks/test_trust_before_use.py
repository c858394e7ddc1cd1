"""Provisioner and servers together, on an API server in memory and a clock that tests move: nobody ever serves what isn't trusted.

One server hears of each change at once, one a minute and a half later, and one reads mounted files that are as late. What they serve is
decided by their own couriers; the provisioner asks them for it.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.authority import KeyPair, issue_leaf, make_authority
from dynamo_webhooks.certs.certificate import Certificate, read_certificate, read_certificates
from dynamo_webhooks.certs.files import PairError
from dynamo_webhooks.certs.state import Mode, Phase
from dynamo_webhooks.kube.resources import SECRETS
from dynamo_webhooks.webhooks.certificate_source import CertificateSource, SecretNames
from dynamo_webhooks.webhooks.cluster.watcher import SecretWatch
from tests.certs.site import CALLED, NAMESPACE, SERVICE, Site

POST: Final = SecretNames(NAMESPACE, CALLED.serving, CALLED.trust, f"{SERVICE}.{NAMESPACE}.svc")
LATE: Final = 90.0  # seconds by which a kubelet may be behind
STEP: Final = 5.0
PARTS: Final = ("tls.crt", "tls.key", "ca.crt")


class Server:
    """What one server was told, and when; it learns of it `late` seconds afterwards."""

    def __init__(self, site: Site, folder: Path, late: float, *, files: bool) -> None:
        folder.mkdir()
        self._site, self._folder, self._late, self._files = site, folder, late, files
        self._pending: list[tuple[float, dict[str, Any]]] = []
        self.source = CertificateSource(POST, folder, now=lambda: site.storage.now, seconds=site.timing.clock)

    def tell(self, report: dict[str, Any]) -> None:
        self._pending.append((self._site.timing.seconds + self._late, report))

    def serves(self) -> Certificate | None:
        """The certificate that it presents now."""
        due = [report for moment, report in self._pending if moment <= self._site.timing.seconds]
        self._pending = self._pending[len(due) :]
        for report in due:
            self._take(report)
        try:
            return read_certificate(self.source.offer().certificate)
        except PairError:
            return None

    def _take(self, report: dict[str, Any]) -> None:
        if self._files:  # the Secret is not permitted, the list of usable issuers is
            for part in PARTS if report["pair"] else ():
                (self._folder / part).write_bytes(base64.b64decode(report["pair"][part]))
            report = {**report, "pair": None, "why": "forbidden"}
        self.source.delivered(report)


class Presented(dict[str, Certificate | None]):
    """Host -> what its server presents, whenever somebody asks."""

    def __init__(self, servers: dict[str, Server]) -> None:
        super().__init__(dict.fromkeys(servers))
        self._servers = servers

    def __getitem__(self, host: str) -> Certificate | None:
        return self._servers[host].serves()


class Cluster:
    """The site with its servers."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        lateness = {"10.0.0.1": (0.0, False), "10.0.0.2": (LATE, False), "10.0.0.3": (LATE, True)}
        self.servers = {host: Server(site, folder / host, late, files=files) for host, (late, files) in lateness.items()}
        site.frozen = Presented(self.servers)
        self._carrier = SecretWatch(site.admin, POST._asdict(), self._tell)
        self.began = False

    def _tell(self, report: dict[str, Any]) -> None:
        for server in self.servers.values():
            server.tell(report["delivery"])

    async def run(self) -> None:
        await self.site.install(*self.servers)
        self._task = asyncio.ensure_future(self._carrier.run())
        self.site.start()

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.site.stop()

    async def until(self, condition: Callable[[], bool], longest: float = 7200.0) -> None:
        """Lets time pass, and looks at everybody after each step."""
        passed = 0.0
        while not condition():
            assert passed < longest, f"not after {passed:.0f} s; phases {self.site.phases()}"
            await self.site.advance(STEP, STEP)
            passed += STEP
            self.check()

    def check(self) -> None:
        """Once all began to serve, each object trusts what each server presents."""
        leaves = {host: server.serves() for host, server in self.servers.items()}
        self.began = self.began or all(leaves.values())
        if not self.began:
            return
        for name, bundles in self.site.bundles().items():
            for host, leaf in leaves.items():
                assert leaf is not None, f"{host} serves nothing any more"
                assert bundles, name
                trusted = all(any(one.issued(leaf) for one in read_certificates(bundle)) for bundle in bundles)
                assert trusted, f"{name} doesn't trust what {host} presents, at {self.site.timing.seconds:.0f} s"

    def all_serve(self, leaf: Certificate) -> bool:
        return all(server.serves() == leaf for server in self.servers.values())


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    found = Cluster(Site(), tmp_path)
    yield found
    await found.stop()


def at_rest(cluster: Cluster) -> bool:
    phases = cluster.site.phases()
    return bool(phases) and phases[-1] == Phase.STABLE and cluster.all_serve(cluster.site.leaf())


async def test_a_rotation(cluster: Cluster) -> None:
    await cluster.run()
    await cluster.until(lambda: at_rest(cluster))
    old = cluster.site.leaf()
    wish = {"metadata": {"annotations": {names.REQUESTED: "now"}}}
    await cluster.site.admin.merge_patch(SECRETS, CALLED.authority, wish, NAMESPACE)
    await cluster.until(lambda: cluster.site.leaf() != old)
    assert cluster.servers["10.0.0.2"].serves() == old
    await cluster.until(lambda: at_rest(cluster))
    assert cluster.site.phases()[-6:] == ["TRUST", "SETTLE", "ROLL", "DRAIN", "DROP", "STABLE"]


@pytest.mark.parametrize(
    "lost", [(CALLED.serving,), (CALLED.authority,), (CALLED.serving, CALLED.authority)], ids=["serving", "ca", "both"]
)
async def test_deleted_secrets(cluster: Cluster, lost: tuple[str, ...]) -> None:
    await cluster.run()
    await cluster.until(lambda: at_rest(cluster))
    for name in lost:
        await cluster.site.admin.delete(SECRETS, name, NAMESPACE)
    await cluster.until(lambda: all(cluster.site.stored(SECRETS, name) for name in lost))
    await cluster.until(lambda: at_rest(cluster))


async def test_a_pair_and_its_authority_swapped_by_a_foreign_tool_in_one_write(cluster: Cluster) -> None:
    """T15: the use gate holds the new leaf until trust in it is published."""
    site = cluster.site.with_(mode=Mode.PROVIDED)

    def given(authority: KeyPair) -> dict[str, str]:
        leaf = issue_leaf(authority, site.about.profile.names, site.storage.now)
        parts = (leaf.certificate, leaf.key, authority.certificate)
        return {part: base64.b64encode(value).decode() for part, value in zip(PARTS, parts, strict=True)}

    first, second = (make_authority(site.storage.now, generation=number) for number in (1, 2))
    metadata = {"name": CALLED.serving, "namespace": NAMESPACE}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": given(first)}
    await site.admin.create(SECRETS, secret)
    await cluster.run()
    await cluster.until(lambda: cluster.began and cluster.all_serve(site.leaf()))
    await cluster.until(lambda: bool(site.usable()) and all(site.bundles().values()))
    await site.admin.merge_patch(SECRETS, CALLED.serving, {"data": given(second)}, NAMESPACE)
    [new] = read_certificates(second.certificate)
    cluster.check()
    await cluster.until(lambda: any(new in read_certificates(each) for each in site.bundles()["dynamo-webhooks-validating"]))
    assert new.fingerprint not in site.usable()
    assert cluster.servers["10.0.0.1"].serves() != site.leaf()
    assert "waiting" in cluster.servers["10.0.0.1"].source.offer().trouble
    await cluster.until(lambda: cluster.all_serve(site.leaf()))
    assert new.fingerprint in site.usable()
    passed = timedelta(seconds=site.timing.seconds)
    await cluster.until(lambda: timedelta(seconds=site.timing.seconds) - passed > timedelta(minutes=20))
    assert cluster.all_serve(site.leaf())
