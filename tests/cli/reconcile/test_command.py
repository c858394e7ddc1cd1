"""`reconcile` as a command: what it refuses, and that it lives, says so and stops in order while there is no API server."""

import contextlib
import http.client
import json
import re
import signal
from os import kill
from pathlib import Path

import pytest

from dynamo_webhooks.cli.main import main
from tests.cli.daemon.processes import CONFIG, configured, unreachable
from tests.cluster.admission import COMMAND
from tests.cluster.processes import Process, running, wait_until


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return configured(tmp_path)


def fetched(process: Process) -> str:
    """Its metrics, once it tells them."""
    found = wait_until(lambda: re.search(r"^metrics http://(\S+)", process.text(), re.MULTILINE), "its address", process)
    with contextlib.closing(http.client.HTTPConnection(found[1], timeout=60)) as connection:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()


@pytest.mark.parametrize("kubeconfig", ["unreachable", "missing"])
def test_without_an_api_server_it_lives_says_what_it_waits_for_and_stops_in_order(config: Path, tmp_path: Path, kubeconfig: str) -> None:
    file = unreachable(tmp_path) if kubeconfig == "unreachable" else tmp_path / "none"
    flags = ["--kubeconfig", str(file), "--probe-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]
    with running(Process("reconcile", [COMMAND, "reconcile", "--config", config, *flags], tmp_path / "log")) as process:
        found = wait_until(lambda: re.search(r"^probes http://(\S+)", process.text(), re.MULTILINE), "its address", process)

        def asked(path: str) -> str:
            connection = http.client.HTTPConnection(found[1], timeout=60)
            with contextlib.closing(connection), contextlib.suppress(ConnectionRefusedError):  # it is bound, and listens in a moment
                connection.request("GET", path)
                return connection.getresponse().read().decode()
            return ""

        wait_until(lambda: asked("/healthz") == "ok\n", "its answer", process)
        words = "waiting: it has not been elected" if kubeconfig == "unreachable" else "a kubeconfig must be a file"
        wait_until(lambda: words in asked("/readyz?verbose"), "its saying so", process)
        if kubeconfig == "unreachable":
            host = json.loads(file.read_text())["clusters"][0]["cluster"]["server"].removeprefix("https://")
            tried = f'rest_client_requests_total{{code="<error>",host="{host}",method="GET"}} '
            wait_until(lambda: tried in fetched(process), "its metrics saying so", process)
        kill(process.pid, signal.SIGTERM)
        wait_until(lambda: process.ended() is not None, "its end")
        assert process.ended() == 0, process.text()
        assert "Traceback" not in process.text()


def test_it_must_know_where_its_lease_is(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(CONFIG.replace("operator: {namespace: dynamo-system}\n", ""))
    assert main(["reconcile", "--config", str(config)]) == 2
    assert "operator.namespace: must name the namespace" in capsys.readouterr().err


def test_an_address_that_is_none_is_refused(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reconcile", "--config", str(config), "--probe-listen", "nonsense"]) == 2
    assert "--probe-listen: must be HOST:PORT" in capsys.readouterr().err


def test_a_configuration_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reconcile"]) == 2
    assert "--config" in capsys.readouterr().err
