"""How `migrate` does with many objects: first alone, for its rate, CPU and memory; then beside writers, killed again and again.

All that it says is compared with the bytes of etcd. It shares the machine with etcd, the API server, the converter and the writers: CPU
seconds say more than the time on the clock.
"""

import os
import random
import signal
import time
from itertools import groupby
from os import kill
from pathlib import Path
from typing import Any, Final, NamedTuple

from dynamo_webhooks.api.kinds import ALPHA, BETA
from tests.bench.footprint import Watch, spent
from tests.bench.graphs import QUOTA
from tests.bench.table import Table
from tests.cluster.assets.build import build
from tests.cluster.conversion import create_many
from tests.cluster.etcd import versions
from tests.cluster.migrating import PLURALS, Site, Writers, objects, report_of, site
from tests.cluster.objects import path_of
from tests.cluster.processes import wait_until

SECTION: Final = "Migration of stored objects"
KILLS: Final = 10
GOAL: Final = 150  # objects a second
_HOUR: Final = 3600.0  # the most that one run may take, in seconds
_SEED: Final = 20


class Cost(NamedTuple):
    """One whole run: its report, seconds on the clock, seconds of CPU of `migrate`, API server and converter, and bytes."""

    report: dict[str, Any]
    seconds: float
    cpu: tuple[float, float, float]
    memory: int

    @property
    def moved(self) -> int:
        """Objects that it moved."""
        return int(sum(kind["moved"] for kind in self.report["kinds"]))

    @property
    def rate(self) -> float:
        """Objects a second of the passes that moved them."""
        return self.moved / max(float(sum(kind["seconds"] for kind in self.report["kinds"])), 0.001)


def migrated(table: Table, folder: Path, many: int) -> None:
    """Measures and adds the rows. Raises: AssertionError when an object or an edit is not what it must be."""
    os.environ.update(QUOTA)
    with site(build(), folder) as place:
        namespace = place.plane.namespace()
        made = [*objects(namespace, many)]
        few = many // 10
        _create(place, made[:few])
        small = _run(place, BETA, few)
        _create(place, made[few:])
        whole = _run(place, ALPHA, many)
        _told(table, many, few, small, whole)
        kills, writes, seconds = _beside_writers(place, made, namespace, whole.seconds)
        what = f"the same beside two writers ({writes:,} writes, none refused, none lost), killed {kills} times: until it is proven"
        table.row(SECTION, what, f"{seconds:.0f} s")


def _told(table: Table, many: int, few: int, small: Cost, whole: Cost) -> None:
    mine, server, converter = (1e3 * part / many for part in whole.cpu)
    machine = f"load average {os.getloadavg()[0]:.0f} on {os.cpu_count()} CPUs"
    table.row(
        SECTION, f"move {many:,} objects of four kinds, objects a second ({machine})", f"{whole.rate:.0f}", goal=f"{GOAL}, idle machine"
    )
    table.row(SECTION, "the whole run with its plan and its proof", f"{whole.seconds:.0f} s")
    what = "CPU an object of the whole run: migrate, API server, converter"
    table.row(SECTION, what, f"{mine:.1f} ms, {server:.1f} ms, {converter:.1f} ms")
    table.row(SECTION, "the whole run by these seconds, objects a second on two idle CPUs", f"{2 * many / sum(whole.cpu):.0f}")
    ratio = whole.memory / small.memory
    memory = f"{small.memory / 1e6:.0f} MB, {whole.memory / 1e6:.0f} MB"
    table.row(SECTION, f"most memory of migrate with {few:,} and {many:,} objects", memory, ratio=ratio, limit=1.2)


def _create(place: Site, made: list[dict[str, Any]]) -> None:
    for path, those in groupby(sorted(made, key=path_of), path_of):
        create_many(place.plane, path, [*those])


def _run(place: Site, to: str, expected: int) -> Cost:
    servers = (place.plane.server.pid, place.converter.process.pid)
    before, began = [spent(pid) for pid in servers], time.monotonic()
    process = place.start("--to", to)
    mine = 0.0
    with Watch(process.pid, 0.2) as watch:
        while process.ended() is None:
            mine = max(mine, spent(process.pid))
            time.sleep(0.2)
            assert time.monotonic() - began < _HOUR
    assert process.ended() == 0, process.tail()
    seconds = time.monotonic() - began
    server, converter = (spent(pid) - earlier for pid, earlier in zip(servers, before, strict=True))
    assert versions(place.plane) == {f"nvidia.com/{to}": expected}
    assert place.stored_versions() == {plural: [to] for plural in PLURALS}
    return Cost(report_of(process), seconds, (mine, server, converter), watch.most)


def _beside_writers(place: Site, made: list[dict[str, Any]], namespace: str, usual: float) -> tuple[int, int, float]:
    dice, began = random.Random(_SEED), time.monotonic()  # noqa: S311 - no secret
    with Writers(place.plane, made[:100], namespace) as writers:
        for _ in range(KILLS):
            process = place.start("--to", BETA)
            time.sleep(usual * dice.random() / 6)
            assert process.ended() is None
            kill(process.pid, signal.SIGKILL)
            process.stop()
            assert any(said != [BETA] for said in place.stored_versions().values())
        process = place.start("--to", BETA)
        assert wait_until(process.ended, "migrate ending", patience=_HOUR) == 0, process.tail()
        assert [*versions(place.plane)] == [f"nvidia.com/{BETA}"]
    assert writers.refused == []
    assert place.stored_versions() == {plural: [BETA] for plural in PLURALS}
    for (path, note), value in writers.acknowledged.items():
        assert place.plane.request("GET", path).body["metadata"]["annotations"][note] == value
    return KILLS, writers.done, time.monotonic() - began
