"""`reconcile` as a command: what it refuses, and that it lives, says so and stops in order while there is no API server."""

import contextlib
import http.client
import json
import re
import signal
from os import kill
from pathlib import Path

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.daemon.processes import CONFIG, configured, unreachable
from tests.cluster.admission import COMMAND
from tests.cluster.processes import Process, running, wait_until


def fetched(process: Process) -> str:
    """Its metrics, once it tells them."""
    found = wait_until(lambda: re.search(r"^metrics http://(\S+)", process.text(), re.MULTILINE), "its address", process)
    with contextlib.closing(http.client.HTTPConnection(found[1], timeout=60)) as connection:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()


@pytest.mark.parametrize("kubeconfig", ["unreachable", "missing"])
def test_without_an_api_server_it_lives_says_what_it_waits_for_and_stops_in_order(tmp_path: Path, kubeconfig: str) -> None:
    file = unreachable(tmp_path) if kubeconfig == "unreachable" else tmp_path / "none"
    flags = ["--kubeconfig", str(file), "--probe-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]
    with running(Process("reconcile", [COMMAND, "reconcile", "--config", configured(tmp_path), *flags], tmp_path / "log")) as process:
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


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (CONFIG.replace("operator: {namespace: dynamo-system}\n", ""), (), "operator.namespace: must name the namespace"),
        (CONFIG, ("--probe-listen", "nonsense"), "--probe-listen: must be HOST:PORT"),
    ],
)
def test_wrong_usage(command: Command, files: Files, text: str, words: tuple[str, ...], said: str) -> None:
    files(config=text)
    ran = command("reconcile", "--config", "config.yaml", *words)
    assert (ran.code, said in ran.err) == (2, True)
    assert command("reconcile").err.startswith("dynamo-webhooks reconcile: --config must be given")
