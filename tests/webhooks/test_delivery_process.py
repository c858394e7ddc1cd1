"""`serve --config` in a pod whose API server is away: it lives, says why it isn't ready, and serves what is mounted."""

import signal
from pathlib import Path

import pytest
import trustme

from tests.webhooks.processes import Command
from tests.webhooks.serving import write_pair
from tests.webhooks.test_facts_serving import stored
from tests.webhooks.test_processes import eventually

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
        said = command.get("probes", "/readyz?verbose")[1]
        assert said.count("source file") == 1
        assert "degraded: the serving Secret is not seen: a kubeconfig must be a file" in said
        assert "is not known to be usable" in command.log("serving a certificate although")["msg"]
        assert command.metric("dynamo_webhooks_certificate_info{") == 1
        serial = said.partition("serial ")[2].partition(",")[0]
        write_pair(mounted, authority.issue_cert(NAME))
        eventually(lambda: serial not in command.get("probes", "/readyz?verbose")[1])
        command.send(signal.SIGTERM)
        assert command.wait() == 0
        assert not any("PRIVATE" in line for line in command.lines)
