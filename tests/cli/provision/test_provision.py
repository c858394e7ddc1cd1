"""`provision` as a command: what it refuses, and that it lives, says so and stops in order while there is no API server."""

import contextlib
import http.client
import re
import signal
import ssl
from os import kill
from pathlib import Path

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.daemon.processes import CONFIG, configured, unreachable
from tests.cluster.admission import COMMAND
from tests.cluster.processes import Process, running, wait_until


def _asked(connection: http.client.HTTPConnection, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_without_an_api_server_it_lives_goes_on_trying_and_stops_in_order(tmp_path: Path) -> None:
    config = configured(tmp_path)
    listening = ("--probe-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
    flags: list[str | Path] = ["--config", config, "--kubeconfig", unreachable(tmp_path), *listening]
    config.write_text(CONFIG.replace("secure: false", "secure: true"))
    with running(Process("provision", [COMMAND, "provision", *flags], tmp_path / "log")) as process:
        found = wait_until(lambda: re.search(r"^probes http://(\S+)", process.text(), re.MULTILINE), "its address", process)
        assert _asked(http.client.HTTPConnection(found[1], timeout=60), "/healthz") == (200, "ok\n")
        wait_until(
            lambda: "it is not known who leads: " in _asked(http.client.HTTPConnection(found[1], timeout=60), "/readyz")[1], "a reason"
        )
        assert _asked(http.client.HTTPConnection(found[1], timeout=60), "/readyz")[0] == 503
        secure = re.search(r"^metrics https://(\S+)$", process.text(), re.MULTILINE)
        assert secure
        nobody_signed = ssl._create_unverified_context()  # noqa: S323 - as Prometheus has to ask
        for header, status in (({}, 401), ({"Authorization": "Bearer anything"}, 503)):
            assert _asked(http.client.HTTPSConnection(secure[1], context=nobody_signed, timeout=60), "/metrics", header)[0] == status
        kill(process.pid, signal.SIGTERM)
        wait_until(lambda: process.ended() is not None, "its end")
        assert process.ended() == 0, process.text()


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (CONFIG, ("--once", "--kubeconfig", "nowhere"), "--kubeconfig: "),
        (CONFIG.replace("operator: {namespace: dynamo-system}\n", ""), ("--once",), "operator.namespace: must name the namespace"),
        (CONFIG, ("--probe-listen", "nonsense", "--metrics-listen", "127.0.0.1:0"), "--probe-listen: must be HOST:PORT"),
        (CONFIG, ("--metrics-listen", "nonsense", "--probe-listen", "127.0.0.1:0"), "--metrics-listen: must be HOST:PORT"),
        (
            CONFIG + "certificates: {leafValidity: 800h, caValidity: 720h}\n",
            ("--once",),
            "certificates.leafValidity: must be at most certificates.caValidity 720h, got 800h",
        ),
    ],
)
def test_wrong_usage(command: Command, files: Files, text: str, words: tuple[str, ...], said: str) -> None:
    files(config=text)
    ran = command("provision", "--config", "config.yaml", *words)
    assert (ran.code, said in ran.err) == (2, True)
    assert command("provision").err.startswith("dynamo-webhooks provision: --config must be given")
