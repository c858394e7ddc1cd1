"""`provision` as a command: what it refuses, and that it lives, says so and stops in order while there is no API server."""

import contextlib
import http.client
import re
import signal
import ssl
from os import kill
from pathlib import Path

import pytest

from dynamo_webhooks.cli.main import main
from tests.cli.daemon.processes import CONFIG, configured, unreachable
from tests.cluster.admission import COMMAND
from tests.cluster.processes import Process, running, wait_until


def _asked(connection: http.client.HTTPConnection, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return configured(tmp_path)


def test_without_an_api_server_it_lives_goes_on_trying_and_stops_in_order(config: Path, tmp_path: Path) -> None:
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
        config.write_text(config.read_text() + "logging: {level: debug}\n")
        wait_until(lambda: "the log level is debug" in process.text(), "another level being taken", process)
        kill(process.pid, signal.SIGTERM)
        wait_until(lambda: process.ended() is not None, "its end")
        assert process.ended() == 0, process.text()


def test_once_without_an_api_server_says_what_is_missing(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["provision", "--config", str(config), "--kubeconfig", str(tmp_path / "nowhere"), "--once"]) == 2
    assert "--kubeconfig: " in capsys.readouterr().err


def test_it_must_know_where_it_is(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(CONFIG.replace("operator: {namespace: dynamo-system}\n", ""))
    assert main(["provision", "--config", str(config), "--once"]) == 2
    assert "operator.namespace" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--probe-listen", "--metrics-listen"])
def test_an_address_that_is_none_is_refused(config: Path, capsys: pytest.CaptureFixture[str], flag: str) -> None:
    other = "--metrics-listen" if flag == "--probe-listen" else "--probe-listen"
    assert main(["provision", "--config", str(config), flag, "nonsense", other, "127.0.0.1:0"]) == 2
    assert f"{flag}: must be HOST:PORT" in capsys.readouterr().err


def test_a_configuration_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["provision"]) == 2
    assert "--config" in capsys.readouterr().err


def test_a_certificate_may_not_outlive_its_authority(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(CONFIG + "certificates: {leafValidity: 800h, caValidity: 720h}\n")
    assert main(["provision", "--config", str(config), "--once"]) == 2
    assert "certificates.leafValidity: must be at most certificates.caValidity 720h, got 800h" in capsys.readouterr().err
