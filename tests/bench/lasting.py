"""What stays: memory over many requests; and what a start costs."""

import statistics
import time
from pathlib import Path
from typing import Final

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.webhooks.routes import route_path
from tests.bench.load import Measured, ours
from tests.bench.requests import conversion, graph, review
from tests.bench.settings import Settings
from tests.bench.table import Table

LOOKS: Final = 10


def memory(table: Table, our: Measured, settings: Settings) -> None:
    """Resident memory after a warm-up, and on the way through many more requests of all three purposes."""
    bodies = [(route_path("DynamoGraphDeployment", "v1alpha1", purpose), review(graph())) for purpose in (Purpose.VALIDATE, Purpose.MUTATE)]
    bodies.append(("/convert", conversion(1)))
    seen = [our.resident()]
    for _ in range(LOOKS):
        for path, body in bodies:
            our.send(path, body, settings.long // LOOKS // len(bodies))
        seen.append(our.resident())
    first, last = seen[1], seen[-1]
    what = f"resident after a tenth of {settings.long:,} requests, and after all; ratio: of the two"
    table.row("Memory", what, f"{first:.1f} MB, {last:.1f} MB", ratio=last / first, goal="80 MB, flat")


def starts(table: Table, certificates: Path, facts: Path, settings: Settings) -> None:
    """From the start of the process to a first answer, for `serve`."""
    body, path = review(graph()), route_path("DynamoGraphDeployment", "v1alpha1", Purpose.VALIDATE)
    walls, used = [], []
    for _ in range(settings.starts):
        begin = time.perf_counter()
        with Measured(ours(certificates, facts), certificates / "ca.crt") as server:
            server.send(path, body, 1)
            walls.append(time.perf_counter() - begin)
            used.append(server.cpu())
    table.row("Start", "serve, until its first answer", f"{statistics.median(walls):.2f} s, {statistics.median(used):.2f} s of CPU")
