"""Certificates from an API server to a listener: watched by name, decided once, tried on a socket."""

from __future__ import annotations

import base64
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import trustme

from dynamo_webhooks.certs.context import Change, ReloadingContext
from dynamo_webhooks.certs.files import PairError
from dynamo_webhooks.kube.resources import CONFIG_MAPS, SECRETS
from dynamo_webhooks.webhooks.certificate_source import CertificateSource, SecretNames
from dynamo_webhooks.webhooks.cluster.watcher import SecretWatch
from dynamo_webhooks.webhooks.probes import Handshake
from dynamo_webhooks.webhooks.server import Webhooks
from tests.kube.memory import MemoryCluster
from tests.kube.timing import beside
from tests.webhooks.processes import Command
from tests.webhooks.serving import served, until, write_pair
from tests.webhooks.test_facts_serving import stored
from tests.webhooks.test_processes import eventually

POST: Final = SecretNames("dynamo-system", "webhook-server-cert", "webhook-server-cert-trust", "dynamo-webhooks.dynamo-system.svc")
META: Final = {"namespace": POST.namespace}


def secret(authority: trustme.CA, leaf: trustme.LeafCert) -> dict[str, Any]:
    parts = {"tls.crt": b"".join(each.bytes() for each in leaf.cert_chain_pems), "tls.key": leaf.private_key_pem.bytes()}
    parts["ca.crt"] = authority.cert_pem.bytes()
    data = {name: base64.b64encode(value).decode() for name, value in parts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {**META, "name": POST.secret}, "type": "kubernetes.io/tls", "data": data}


def trust(*usable: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**META, "name": POST.trust}, "data": {"usable": "\n".join(usable)}}


class Carried:
    """A watch with what it reported."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.cluster = cluster
        self.reports: list[dict[str, Any]] = []
        self._carrier = SecretWatch(cluster, POST._asdict(), lambda report: self.reports.append(report["delivery"]))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Carried]:
        async with beside(self._carrier.run()):
            yield self

    async def until(self, condition: Callable[[dict[str, Any]], bool]) -> None:
        await until(lambda: self.reports and condition(self.reports[-1]))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def leaf(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert(POST.server_name, "127.0.0.1")


async def test_what_the_cluster_holds_is_reported_when_it_changes(authority: trustme.CA, leaf: trustme.LeafCert) -> None:
    cluster = MemoryCluster()
    await cluster.create(SECRETS, {**secret(authority, leaf), "metadata": {**META, "name": "another"}})
    async with Carried(cluster).running() as carried:
        await carried.until(lambda report: report["heard"] and "there is no Secret" in report["why"])
        assert (carried.reports[-1]["pair"], carried.reports[-1]["usable"]) == (None, None)
        made = await cluster.create(SECRETS, secret(authority, leaf))
        await carried.until(lambda report: report["pair"] == made["data"] and report["why"] == "")
        await cluster.create(CONFIG_MAPS, trust("ab", "cd"))
        await carried.until(lambda report: report["usable"] == ["ab", "cd"])
        count = len(carried.reports)
        await cluster.merge_patch(SECRETS, POST.secret, {"metadata": {"labels": {"a": "b"}}}, POST.namespace)
        await cluster.delete(CONFIG_MAPS, POST.trust, POST.namespace)
        await carried.until(lambda report: report["usable"] is None)
        assert len(carried.reports) == count + 1, "a label is no news"
        await cluster.delete(SECRETS, POST.secret, POST.namespace)
        await carried.until(lambda report: report["pair"] is None)


async def test_a_missing_permission_is_told_and_what_was_seen_stays(authority: trustme.CA, leaf: trustme.LeafCert) -> None:
    cluster = MemoryCluster()
    cluster.denied.add(("list", "secrets"))
    async with Carried(cluster).running() as carried:
        await carried.until(lambda report: "forbidden" in report["why"])
    source = CertificateSource(POST, Path("/nowhere"))
    source.on_delivery(carried.reports[-1])
    assert "forbidden" in source.stale
    with pytest.raises(PairError, match=r"api: .*forbidden.*; file: tls\.crt can't be read"):
        source.offer()


def delivery(held: dict[str, Any] | None, usable: list[str] | None = None, why: str = "", *, heard: bool = True) -> dict[str, Any]:
    return {"pair": held and held["data"], "why": why, "usable": usable, "heard": heard}


async def test_a_context_serves_what_the_source_decides(tmp_path: Path, authority: trustme.CA, leaf: trustme.LeafCert) -> None:
    source = CertificateSource(POST, tmp_path)
    context = ReloadingContext(source)
    assert context.refresh() is Change.REFUSED
    assert "the API server has not answered yet" in context.reason
    source.on_delivery(delivery(secret(authority, leaf)))
    assert (context.refresh(), context.refresh()) == (Change.LOADED, Change.SAME)
    assert context.served is not None
    facts = context.served.facts()
    assert facts["source"] == "api"
    assert all(facts[name] for name in ("serial", "issuer_key_id", "not_after", "bundle"))
    stranger = trustme.CA()
    source.on_delivery(delivery(secret(stranger, stranger.issue_cert(POST.server_name)), usable=[]))
    assert [context.refresh() for _ in range(3)] == [Change.REFUSED, Change.SAME, Change.SAME]
    assert "waiting, because its issuer is not among the usable ones" in context.reason


@asynccontextmanager
async def listening(tmp_path: Path, source: CertificateSource) -> AsyncIterator[tuple[Webhooks, Handshake]]:
    """A server that is brought its certificate, and its handshake with itself."""
    seconds = iter(range(10**6))
    async with served(tmp_path, source=source) as running:
        server = running.server
        yield server, Handshake(server.certificate.context, POST.server_name, clock=lambda: float(next(seconds) * 100))


async def test_no_certificate_is_not_ready_with_the_reason_and_the_first_one_opens_the_listener(
    tmp_path: Path, authority: trustme.CA, leaf: trustme.LeafCert
) -> None:
    source = CertificateSource(POST, tmp_path)
    async with listening(tmp_path, source) as (server, handshake):
        assert any("the API server has not answered yet" in reason for reason in server.reasons())
        assert "not listening" in server.reasons()
        [refused] = handshake.reasons(authority.cert_pem.bytes())
        assert "a handshake with ourselves failed" in refused
        source.on_delivery(delivery(secret(authority, leaf)))
        server.certificate.hurry()
        await until(lambda: not server.reasons())
        assert handshake.reasons(source.offer().bundle) == []
        assert server.certificate.report()["certificate"]["source"] == "api"


async def test_the_handshake_is_verified_by_the_bundle_and_for_the_name(
    tmp_path: Path, authority: trustme.CA, leaf: trustme.LeafCert
) -> None:
    source = CertificateSource(POST, tmp_path)
    source.on_delivery(delivery(secret(authority, leaf)))
    async with listening(tmp_path, source) as (server, handshake):
        await until(lambda: not server.reasons())
        [stranger] = handshake.reasons(trustme.CA().cert_pem.bytes())
        assert POST.server_name in stranger
        assert "self-signed" in stranger or "unable to get" in stranger
        both = trustme.CA().cert_pem.bytes() + authority.cert_pem.bytes()
        assert handshake.reasons(both) == []


NAME = "dynamo-webhooks.dynamo-system.svc"


def readyz(command: Command) -> str:
    """What the probe says; nothing while nobody listens."""
    try:
        return command.get("probes", "/readyz")[1]
    except ConnectionRefusedError:
        return ""


def test_without_an_api_server_the_mounted_pair_is_served_and_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T18."""
    monkeypatch.setenv("POD_NAMESPACE", "dynamo-system")
    authority = trustme.CA()
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    config = stored(tmp_path, server={"webhook": {"certDir": str(mounted)}, "metrics": {"secure": False}})
    nowhere = ("--kubeconfig", str(tmp_path / "kubeconfig"))
    with Command(tmp_path, "--config", config, cluster=nowhere, own=False, named=False) as command:
        eventually(lambda: "no certificate: api: a kubeconfig must be a file" in readyz(command))
        assert command.get("probes", "/healthz")[0] == 200
        (mounted / "ca.crt").write_bytes(authority.cert_pem.bytes())
        write_pair(mounted, authority.issue_cert("another.svc"))
        eventually(lambda: f"tls.crt must name {NAME}" in command.get("probes", "/readyz")[1])
        write_pair(mounted, authority.issue_cert(NAME))
        command.ready()
        eventually(lambda: command.get("probes", "/readyz")[0] == 200)
        output = command.get("probes", "/readyz?verbose")[1]
        assert output.count("source file") == 1
        assert "degraded: the serving Secret can't be read: a kubeconfig must be a file" in output
        assert "is not known to be usable" in command.log("serving a certificate although")["msg"]
        assert command.metric("dynamo_webhooks_certificate_info{") == 1
        serial = output.partition("serial ")[2].partition(",")[0]
        write_pair(mounted, authority.issue_cert(NAME))
        eventually(lambda: serial not in command.get("probes", "/readyz?verbose")[1])
        command.send(signal.SIGTERM)
        assert command.wait() == 0
        assert not any("PRIVATE" in line for line in command.lines)
