"""`reconcile` as a command: that it lives, says so and stops in order while there is no API server."""

from pathlib import Path

import pytest

from tests.cli.daemon.processes import address_of, configured, host_of, lasting, unreachable
from tests.cluster.processes import fetched, wait_until


@pytest.mark.parametrize("kubeconfig", ["unreachable", "missing"])
def test_without_an_api_server_it_lives_says_what_it_waits_for_and_stops_in_order(tmp_path: Path, kubeconfig: str) -> None:
    file = unreachable(tmp_path) if kubeconfig == "unreachable" else tmp_path / "none"
    with lasting("reconcile", configured(tmp_path), file) as process:
        probes, metrics = address_of(process, "probes"), address_of(process, "metrics")
        # they are bound, and listen in a moment
        wait_until(lambda: fetched(probes, "/healthz") == (200, "ok\n"), "its answer", process)
        words = "waiting: it has not been elected" if kubeconfig == "unreachable" else "a kubeconfig must be a file"
        wait_until(lambda: words in fetched(probes, "/readyz?verbose")[1], "its saying so", process)
        if kubeconfig == "unreachable":
            host = host_of(file)
            tried = f'rest_client_requests_total{{code="<error>",host="{host}",method="GET"}} '
            wait_until(lambda: tried in fetched(metrics, "/metrics")[1], "its metrics saying so", process)
