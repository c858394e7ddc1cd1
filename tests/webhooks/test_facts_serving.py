"""`serve --config` as a process: settings take effect, the watching process lives beside it, and serving processes stay small."""

import json
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.cli.daemon.processes import host_of, unreachable
from tests.webhooks.processes import DEADLINE, ROOT, Command, ask
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.test_processes import LOOPBACK, eventually, serve

CONFIGURATION: Final[dict[str, Any]] = {
    "apiVersion": "operator.config.dynamo.nvidia.com/v1alpha1",
    "kind": "OperatorConfiguration",
    "rbac": {"plannerClusterRoleName": "p", "dgdrProfilingClusterRoleName": "q", "eppClusterRoleName": "e"},
    "mpi": {"sshSecretName": "key", "sshSecretNamespace": "dynamo-system"},
    "serving": {"drainLag": "0s"},
}


def stored(folder: Path, **blocks: Any) -> str:
    file = folder / "config.yaml"
    file.write_text(json.dumps(CONFIGURATION | blocks))
    return str(file)


@contextmanager
def serving(folder: Path, *flags: str, facts: dict[str, Any] | None = None, **blocks: Any) -> Iterator[Command]:
    with Command(folder, "--config", stored(folder, **blocks), *flags, facts=facts) as command:
        yield command.ready()


def test_a_configuration_is_in_effect_and_metrics_are_served_over_tls(tmp_path: Path) -> None:
    blocks: dict[str, Any] = {"orchestrators": {"grove": {"enabled": False}}}
    blocks["serving"] = {"drainLag": "0s"}
    with serving(tmp_path, **blocks) as command:
        obj = graph()
        obj["spec"]["priorityClassName"] = "high"
        connection = command.connect()
        status = ask(connection, GRAPHS, review(obj))["status"]
        connection.close()
        assert status["details"]["causes"][0]["field"] == "spec.priorityClassName"
        address = command.line("metrics https://")
        context = ssl.create_default_context(cafile=str(command.directory / "ca.crt"))
        with urllib.request.urlopen(f"https://{address}/metrics", context=context, timeout=DEADLINE) as response:
            assert b"dynamo_webhooks_requests_total" in response.read()


def test_flags_and_facts_win_over_the_configuration(tmp_path: Path) -> None:
    facts = {"grove": True}
    blocks = {
        "orchestrators": {"grove": {"enabled": False}},
        "serving": {"drainLag": "0s"},
        "server": {"metrics": {"secure": False}},
    }
    with serving(tmp_path, facts=facts, **blocks) as command:
        assert command.get("metrics", "/metrics")[0] == 200
        obj = graph()
        obj["spec"]["priorityClassName"] = "high"
        connection = command.connect()
        assert ask(connection, GRAPHS, review(obj))["allowed"]
        connection.close()
        assert len(command.children()) == 1  # which answers long requests


def test_logs_follow_the_configuration(tmp_path: Path) -> None:
    """A quiet level leaves out what is told of each request; people get text."""
    with serving(tmp_path, logging={"level": "warning", "format": "console"}) as command:
        connection = command.connect()
        ask(connection, GRAPHS, review(graph()))
        connection.close()
        (command.directory / "tls.crt").write_text("nonsense")
        entry = command.holding("a certificate can't be used")
        assert " ERROR webhooks.server a certificate can't be used" in entry
        assert not any('"access"' in line or " access " in line for line in command.lines)


def test_a_wrong_configuration_stops_the_start_with_all_that_is_wrong(tmp_path: Path) -> None:
    file = stored(tmp_path, server={"webhook": {"prot": 1}}, mpi={})
    code, output = serve(*LOOPBACK, "--config", file)
    assert code == 2
    assert "3 things to change" in output
    assert "server.webhook.prot: unknown key; did you mean port?" in output
    assert "mpi.sshSecretName: must be set" in output
    assert "Traceback" not in output


def test_secure_metrics_cant_share_the_address_of_the_probes(tmp_path: Path) -> None:
    file = stored(tmp_path, server={"metrics": {"port": 9}, "healthProbe": {"port": 9}})
    own = ("--config", file, "--self-signed", "--cert-dir", str(tmp_path / "certs"))
    code, output = serve(*LOOPBACK, *own, "--probe-listen", "127.0.0.1:9999", "--metrics-listen", "127.0.0.1:9999")
    assert code == 2
    assert "server.metrics.secure: must be false" in output


def test_serving_processes_import_neither_the_models_nor_a_client() -> None:
    code = "import sys, dynamo_webhooks.webhooks.process, dynamo_webhooks.cli.daemon.server; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    modules = done.stdout.split()
    assert not {"pydantic", "kubernetes"} & set(modules)
    assert {name for name in modules if name.startswith("dynamo_webhooks.kube.")} == {
        "dynamo_webhooks.kube.config",
        "dynamo_webhooks.kube.metrics",
        "dynamo_webhooks.kube.times",
    }


def test_pure_answers_import_no_server() -> None:
    """What the offline `review` command may not pay for."""
    code = "import sys, dynamo_webhooks.webhooks.admission; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not {"aiohttp", "asyncio", "uvloop", "ssl", "cryptography", "prometheus_client", "pydantic"} & set(done.stdout.split())


def test_what_the_watching_process_asks_in_vain_is_counted(tmp_path: Path) -> None:
    cluster = unreachable(tmp_path)
    host = host_of(cluster)
    config = stored(tmp_path, server={"metrics": {"secure": False}})
    with Command(tmp_path, "--config", config, cluster=("--kubeconfig", str(cluster))) as command:
        command.ready()
        eventually(lambda: command.metric(f'rest_client_requests_total{{code="<error>",host="{host}",method="GET"}}') > 0)
        assert command.metric('rest_client_requests_total{code="200"') == 0
