"""`provision` as a command: that it lives, says so and stops in order while there is no API server."""

import contextlib
import http.client
import ssl
from pathlib import Path

from tests.cli.daemon.processes import CONFIG, address_of, configured, lasting, unreachable
from tests.cluster.processes import fetched, wait_until


def test_without_an_api_server_it_lives_goes_on_trying_and_stops_in_order(tmp_path: Path) -> None:
    config = configured(tmp_path)
    config.write_text(CONFIG.replace("secure: false", "secure: true"))
    with lasting("provision", config, unreachable(tmp_path)) as process:
        probes, metrics = address_of(process, "probes"), address_of(process, "metrics")
        wait_until(lambda: fetched(probes, "/healthz") == (200, "ok\n"), "its answer", process)
        wait_until(lambda: "it is not known who leads: " in fetched(probes, "/readyz")[1], "a reason", process)
        assert fetched(probes, "/readyz")[0] == 503
        nobody_signed = ssl._create_unverified_context()  # noqa: S323 - as Prometheus has to ask
        for headers, status in (({}, 401), ({"Authorization": "Bearer anything"}, 503)):
            with contextlib.closing(http.client.HTTPSConnection(metrics, context=nobody_signed, timeout=60)) as connection:
                connection.request("GET", "/metrics", headers=headers)
                assert connection.getresponse().status == status
