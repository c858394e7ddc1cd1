"""Two servers of different scope on one real API server, which both learn of the cluster by themselves; what comes and goes."""

import contextlib
import http.client
import json
import os
import re
import signal
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.admission import COMMAND, Admission
from tests.cluster.harness import ADMIN, TOKENS, ControlPlane
from tests.cluster.objects import ORIGIN, graph, make, path_of
from tests.cluster.processes import Process, running, wait_until

LABEL: Final = "dynamo-webhooks.test/hybrid"
LEASE: Final = "dynamo-operator-namespace-scope"
PATIENCE: Final = 120.0  # seconds; the slowest source is asked every 20 s
CONFIGURATION: Final[dict[str, Any]] = {
    "apiVersion": "operator.config.dynamo.nvidia.com/v1alpha1",
    "kind": "OperatorConfiguration",
    "rbac": {"plannerClusterRoleName": "p", "dgdrProfilingClusterRoleName": "q", "eppClusterRoleName": "e"},
    "mpi": {"sshSecretName": "key", "sshSecretNamespace": "dynamo-system"},
    "serving": {"drainLag": "0s"},
}


@dataclass(frozen=True, slots=True)
class Operator:
    """A running server with a configuration."""

    admission: Admission
    metrics: tuple[str, int]

    def sample(self, name: str) -> float | None:
        """One metric."""
        found = re.search(rf"^dynamo_webhooks_{name} (\S+)$", self.scrape(), re.MULTILINE)
        return float(found[1]) if found else None

    def answered(self, plane: ControlPlane) -> float:
        """Reads that the API server has answered well, as the last report had them."""
        counted = rf'^rest_client_requests_total{{code="200",host="127.0.0.1:{plane.port}",method="GET"}} (\S+)$'
        [count] = re.findall(counted, self.scrape(), re.MULTILINE) or ["0"]
        return float(count)

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
    (home / "config.yaml").write_text(json.dumps(CONFIGURATION | blocks))
    flags: dict[str, Any] = {f"--{name}": "127.0.0.1:0" for name in ("listen", "probe-listen", "metrics-listen")}
    flags |= {"--cert-dir": home / "certs", "--config": home / "config.yaml", "--kubeconfig": plane.kubeconfig}
    command: list[str | Path] = [COMMAND, "serve", "--self-signed", *(str(part) for flag in flags.items() for part in flag)]
    with running(Process(home.name, command, home / "log")) as process:
        ready = wait_until(lambda: re.search(r"^ready (https://\S+)", process.text(), re.MULTILINE), "the server being ready", process)
        metrics = re.search(r"^metrics https://(\S+):(\d+)$", process.text(), re.MULTILINE)
        assert metrics is not None
        yield Operator(Admission(process, ready[1], (home / "certs" / "ca.crt").read_bytes()), (metrics[1], int(metrics[2])))


@pytest.fixture(scope="module")
def wide(alpha: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """A cluster-wide server, asked for all namespaces with our label."""
    with operator(alpha, tmp_path_factory.mktemp("hybrid") / "wide", namespace={"scope": {"grace": "2s"}}) as found:
        configurations = found.admission.configurations("hybrid", {LABEL: "on"})
        alpha.apply(*configurations)
        yield found
        for each in configurations:
            alpha.kubectl("delete", each["kind"], each["metadata"]["name"])


@pytest.fixture
def namespace(alpha: ControlPlane, wide: Operator) -> str:
    """A namespace that the cluster-wide server is asked about."""
    return watched(alpha, wide)


def watched(plane: ControlPlane, wide: Operator) -> str:
    """Makes a namespace, and waits until its writes are judged."""
    name = plane.namespace({LABEL: "on"})
    wait_until(lambda: refused(plane, name), "the server being asked", wide.admission.process, patience=PATIENCE)
    return name


def eventually(wide: Operator, question: Callable[[], bool], what: str) -> None:
    """Waits until the server has learned of a change."""
    wait_until(question, what, wide.admission.process, patience=PATIENCE)


def refused(plane: ControlPlane, namespace: str) -> bool:
    """Whether a model that only our rules refuse is refused."""
    model = make("MODEL", "v1alpha1", namespace, {"modelName": "", "baseModelName": "b"})
    reply = plane.request("POST", f"{path_of(model)}?dryRun=All", model)
    assert reply.status in (201, 403, 422), reply.body
    return reply.status != 201


def defaulted(plane: ControlPlane, namespace: str) -> bool:
    """Whether a graph is stamped."""
    obj = graph(namespace)
    reply = plane.request("POST", f"{path_of(obj)}?dryRun=All", obj)
    assert reply.status == 201, reply.body
    return ORIGIN in reply.body["metadata"].get("annotations", {})


def lease_of(plane: ControlPlane, namespace: str) -> dict[str, Any] | None:
    reply = plane.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{LEASE}")
    return reply.body if reply.status == 200 else None


def restricted(namespace: str) -> dict[str, Any]:
    scope = {"leaseDuration": "6s", "leaseRenewInterval": "2s"}
    return {"namespace": {"restricted": namespace, "scope": scope}}


def test_a_restricted_operator_takes_its_namespace_and_gives_it_back(
    alpha: ControlPlane, wide: Operator, namespace: str, tmp_path: Path
) -> None:
    other = watched(alpha, wide)
    assert defaulted(alpha, namespace)
    with operator(alpha, tmp_path / "restricted", **restricted(namespace)) as narrow:
        lease = wait_until(lambda: lease_of(alpha, namespace), "the namespace being claimed", narrow.admission.process, patience=PATIENCE)
        assert lease["spec"]["holderIdentity"].startswith("namespace-restricted-operator-")
        assert lease["spec"]["leaseDurationSeconds"] == 6
        assert "renewTime" in lease["spec"]
        wait_until(lambda: not refused(alpha, namespace), "the namespace being left alone", wide.admission.process, patience=PATIENCE)
        eventually(wide, lambda: not defaulted(alpha, namespace), "the defaulter leaving it alone")
        eventually(wide, lambda: wide.sample("excluded_namespaces") == 1, "one namespace being excluded")
        assert refused(alpha, other)
        renewed = wait_until(
            lambda: (lease_of(alpha, namespace) or lease)["spec"]["renewTime"] != lease["spec"]["renewTime"],
            "a renewal",
            narrow.admission.process,
            patience=PATIENCE,
        )
        assert renewed
        assert narrow.admission.process.stop() == 0
        assert lease_of(alpha, namespace) is None
    eventually(wide, lambda: refused(alpha, namespace), "the namespace being governed again")
    eventually(wide, lambda: defaulted(alpha, namespace), "its defaults being filled again")


def test_the_watching_process_is_replaced_without_a_word_to_clients(alpha: ControlPlane, wide: Operator, namespace: str) -> None:
    before, answered = wide.sample("cluster_watch_restarts"), wide.answered(alpha)
    assert before is not None
    assert answered > 0
    pid = wide.admission.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    [watcher] = [int(child) for child in children if b"dynamo_webhooks.webhooks.cluster" in Path(f"/proc/{child}/cmdline").read_bytes()]
    assert (wide.sample("scope_watch_stale_seconds") or 0) < PATIENCE
    os.kill(watcher, signal.SIGKILL)
    wait_until(
        lambda: wide.sample("cluster_watch_restarts") == before + 1, "its end being noticed", wide.admission.process, patience=PATIENCE
    )
    assert refused(alpha, namespace)
    eventually(wide, lambda: wide.answered(alpha) > answered, "what both processes asked being summed up")
