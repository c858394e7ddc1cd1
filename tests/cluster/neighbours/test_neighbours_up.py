"""`dynamo-webhooks up` in less than half a minute: from nothing to a refused graph and to one whose pods kwok runs.

A graph whose pods can't be scheduled says why in `kubectl get`.
"""

import re
import time
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.assets.build import KWOK, SCHEDULER
from tests.cluster.assets.wanted import wanted
from tests.cluster.harness import control_plane
from tests.cluster.neighbours.neighbourhood import add_nodes, kubelets, scheduler
from tests.cluster.processes import wait_until
from tests.cluster.trying import made, trying, until_running
from tests.reconciler.rendering import component


@pytest.mark.alone
def test_a_graph_runs_in_half_a_minute(assets: Path, tmp_path: Path) -> None:
    with (
        control_plane(assets, tmp_path / "plane", controllers=True) as plane,
        scheduler(plane, wanted(SCHEDULER)),
        kubelets(plane, wanted(KWOK)),
    ):
        add_nodes(plane, 1)
        began = time.monotonic()
        with trying(plane, tmp_path) as process:
            until_running(plane, process)
            took = time.monotonic() - began
            nowhere = component("worker", "worker", {"image": "img:1.5.0"}, {"nodeSelector": {"no": "such"}})
            applied = plane.kubectl("apply", "-f", "-", input=made(spec={"components": [nowhere]}) | {"metadata": {"name": "h"}})
            assert applied.code == 0, applied.stderr
            shown = partial(plane.kubectl, "get", "dgd", "h")
            wait_until(lambda: re.search(r"h-worker\S*: Unschedulable: 0/1 nodes", shown().stdout), "the reason of its pod", process)
            waited = plane.kubectl("wait", "--for=condition=Ready", "dgd/h", "--timeout=1s")
            assert waited.code == 1
        print(f"up, one graph refused and one running took {took:.1f} s")
        assert took < 30
