"""Two servers of different scope on one real API server, which both learn of the cluster by themselves; what comes and goes."""

import contextlib
import http.client
import json
import re
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.admission import ANYWHERE, COMMAND, Admission, start
from tests.cluster.harness import ADMIN, TOKENS, ControlPlane
from tests.cluster.objects import ORIGIN, graph, make, path_of
from tests.cluster.processes import running, wait_until
from tests.webhooks.test_facts_serving import CONFIGURATION

LABEL: Final = "dynamo-webhooks.test/hybrid"
CLAIMABLE: Final = "claimable"  # the only namespace whose claim exempts it
LEASE: Final = "dynamo-operator-namespace-scope"
WAIT_SECONDS: Final = 120.0  # the slowest source is asked every 20 s


@dataclass(frozen=True, slots=True)
class Operator:
    """A running server with a configuration."""

    admission: Admission
    metrics: tuple[str, int]

    def sample(self, name: str) -> float | None:
        """One metric."""
        match = re.search(rf"^dynamo_webhooks_{name} (\S+)$", self.scrape(), re.MULTILINE)
        return float(match[1]) if match else None

    def scrape(self) -> str:
        """All metrics, for an admin; asks again while nobody can be asked who reads, as when the watching process has been killed."""
        return wait_until(self._asked, "a decision on who asks", self.admission.process)

    def _asked(self) -> str | None:
        """Over TLS, as the configuration's default wants it."""
        context = ssl.create_default_context(cadata=self.admission.ca.decode())
        with contextlib.closing(http.client.HTTPSConnection(*self.metrics, context=context, timeout=30)) as connection:
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKENS[ADMIN][0]}"})
            answer = connection.getresponse()
            return answer.read().decode() if answer.status == 200 else None


@contextlib.contextmanager
def operator(plane: ControlPlane, home: Path, **blocks: Any) -> Iterator[Operator]:
    """Runs a server that watches the control plane."""
    home.mkdir()
    (home / "config.yaml").write_text(json.dumps(CONFIGURATION | {"operator": {"version": "1.2.0"}} | blocks))
    flags: dict[str, str | Path] = {"listen": ANYWHERE, "cert_dir": home / "certs", "config": home / "config.yaml"}
    with running(start(home.name, home, COMMAND, "serve", "--self-signed", kubeconfig=plane.kubeconfig, **flags)) as process:
        ready = wait_until(lambda: re.search(r"^ready (https://\S+)", process.text(), re.MULTILINE), "the server being ready", process)
        metrics = re.search(r"^metrics https://(\S+):(\d+)$", process.text(), re.MULTILINE)
        assert metrics is not None
        yield Operator(Admission(process, ready[1], (home / "certs" / "ca.crt").read_bytes()), (metrics[1], int(metrics[2])))


@pytest.fixture(scope="module")
def wide(alpha: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """A cluster-wide server, asked for all namespaces with our label."""
    scope = {"grace": "2s", "claimable": [CLAIMABLE]}
    with operator(alpha, tmp_path_factory.mktemp("hybrid") / "wide", namespace={"scope": scope}) as server:
        configurations = server.admission.configurations("hybrid", {LABEL: "on"})
        alpha.apply(*configurations)
        yield server
        for each in configurations:
            alpha.kubectl("delete", each["kind"], each["metadata"]["name"])


def watched(plane: ControlPlane, wide: Operator, name: str = "") -> str:
    """Makes a namespace, and waits until its writes are judged."""
    if name:
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {LABEL: "on"}}})
    name = name or plane.namespace({LABEL: "on"})
    wait_until(lambda: refused(plane, name), "the server being asked", wide.admission.process, patience=WAIT_SECONDS)
    return name


def eventually(wide: Operator, question: Callable[[], bool], what: str) -> None:
    """Waits until the server has learned of a change."""
    wait_until(question, what, wide.admission.process, patience=WAIT_SECONDS)


def refused(plane: ControlPlane, namespace: str) -> bool:
    """Whether a model that only our rules refuse is refused."""
    model = make("MODEL", "v1alpha1", namespace, {"modelName": "", "baseModelName": "b"})
    reply = plane.request("POST", f"{path_of(model)}?dryRun=All", model)
    assert reply.status in (201, 403, 422), reply.body
    return reply.status != 201


def defaulted(plane: ControlPlane, namespace: str) -> bool:
    """Whether a graph is stamped."""
    obj = graph(namespace)
    reply = plane.request("POST", f"{path_of(obj)}?dryRun=All", obj).done()
    return ORIGIN in reply["metadata"].get("annotations", {})


def lease_of(plane: ControlPlane, namespace: str) -> dict[str, Any] | None:
    reply = plane.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{LEASE}")
    return reply.body if reply.status == 200 else None


def restricted(namespace: str) -> dict[str, Any]:
    scope = {"leaseDuration": "6s", "leaseRenewInterval": "2s"}
    return {"namespace": {"restricted": namespace, "scope": scope}}


def test_a_restricted_operator_takes_its_namespace_and_gives_it_back(alpha: ControlPlane, wide: Operator, tmp_path: Path) -> None:
    namespace, other = watched(alpha, wide, CLAIMABLE), watched(alpha, wide)
    assert defaulted(alpha, namespace)
    with operator(alpha, tmp_path / "restricted", **restricted(namespace)) as narrow:
        lease = wait_until(
            lambda: lease_of(alpha, namespace), "the namespace being claimed", narrow.admission.process, patience=WAIT_SECONDS
        )
        assert lease["spec"]["holderIdentity"].startswith("namespace-restricted-operator-")
        assert lease["spec"]["leaseDurationSeconds"] == 6
        assert "renewTime" in lease["spec"]
        wait_until(lambda: not refused(alpha, namespace), "the namespace being left alone", wide.admission.process, patience=WAIT_SECONDS)
        eventually(wide, lambda: not defaulted(alpha, namespace), "the defaulter leaving it alone")
        eventually(wide, lambda: wide.sample("excluded_namespaces") == 1, "one namespace being excluded")
        assert refused(alpha, other)
        renewed = wait_until(
            lambda: (lease_of(alpha, namespace) or lease)["spec"]["renewTime"] != lease["spec"]["renewTime"],
            "a renewal",
            narrow.admission.process,
            patience=WAIT_SECONDS,
        )
        assert renewed
        assert narrow.admission.process.stop() == 0
        assert lease_of(alpha, namespace) is None
    eventually(wide, lambda: refused(alpha, namespace), "the namespace being governed again")
    eventually(wide, lambda: defaulted(alpha, namespace), "its defaults being filled again")


def test_a_lease_of_whoever_may_write_leases_exempts_from_nothing(alpha: ControlPlane, wide: Operator) -> None:
    namespace = watched(alpha, wide)
    spec = {"holderIdentity": "namespace-restricted-operator-x", "leaseDurationSeconds": 3600, "renewTime": "2099-01-01T00:00:00.000000Z"}
    metadata = {"name": LEASE, "namespace": namespace}
    alpha.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
    eventually(wide, lambda: f"namespace {namespace} is claimed by a Lease, but rules apply" in wide.admission.process.text(), "the claim")
    assert refused(alpha, namespace)
    assert defaulted(alpha, namespace)
    assert wide.sample("excluded_namespaces") == 0
