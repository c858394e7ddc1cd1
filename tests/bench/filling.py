"""How long a real API server takes to fill its caches with objects that must be converted: what a user sees after it was restarted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.bench.requests import graph
from tests.cluster.assets.build import build
from tests.cluster.conversion import converting_plane, create_many, listed, restart
from tests.cluster.objects import path_of
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.settings import Settings
    from tests.bench.table import Table
    from tests.cluster.harness import ControlPlane


def filling(table: Table, settings: Settings, folder: Path) -> None:
    """Creates graphs, restarts the API server, and lists them in the stored version (which is the bare case) and in the other one."""
    count = settings.cluster_objects
    made = [{**graph(), "metadata": {"name": f"g{index}", "namespace": "default"}} for index in range(count)]
    with converting_plane(build(), folder / "cluster") as (plane, converter):
        create_many(plane, path_of(made[0]), made)
        restart(plane)
        paths = [path_of({**made[0], "apiVersion": f"nvidia.com/{version}"}) for version in ("v1alpha1", "v1beta1")]
        stored, other = (_seconds(plane, path, count) for path in paths)
        reviews = len(converter.lines())
    what = f"an API server's first list of {count:,} graphs after its start, converted ({reviews} reviews so far)"
    table.row("API server", what, f"{other:.2f} s", f"{stored:.2f} s", other / stored)


def _seconds(plane: ControlPlane, path: str, count: int) -> float:
    begin = time.perf_counter()

    def whole() -> bool:
        found = listed(plane, path)
        return found is not None and len(found["items"]) == count

    wait_until(whole, "a whole list", plane.server)
    return time.perf_counter() - begin
