"""`dynamo-webhooks up` as a process. `python -m tests.cluster.trying` (`make up`) runs it on an API server of the tests until Ctrl-C."""

import contextlib
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from dynamo_webhooks.webhooks import child_process
from tests.cluster.assets.build import build
from tests.cluster.harness import ControlPlane, control_plane, controllers
from tests.cluster.processes import Process, running, wait_until
from tests.cluster.reconciling import Pods
from tests.reconciler.rendering import component, graph

Node: TypeAlias = dict[str, Any]
COMMAND: Final = child_process.command("dynamo_webhooks.cli.main", "up", "--kubeconfig")
REFUSED: Final[Node] = {"components": [{"name": "a", "type": "worker", "multinode": {"nodeCount": 2}}]}


@contextlib.contextmanager
def trying(plane: ControlPlane, home: Path, *more: str) -> Iterator[Process]:
    """Runs it, and goes on when it is ready."""
    home.mkdir(exist_ok=True)
    words = [*COMMAND, str(plane.kubeconfig), *more]
    with running(Process("up", words, home / "up.log", child_process.environment())) as process:
        wait_until(lambda: re.search(r"^ready https://", process.text(), re.MULTILINE), "up being ready", process, patience=240)
        yield process


def until_running(plane: ControlPlane, process: Process) -> None:
    """Sends one graph that is refused, and one that runs."""
    refused = plane.kubectl("apply", "-f", "-", input=made(spec=REFUSED))
    assert refused.code == 1
    assert "must not span 2 nodes: Grove is not served by the cluster" in refused.stderr
    plane.kubectl("apply", "-f", "-", input=made()).done()
    waited = plane.kubectl("wait", "--for=condition=Ready", "dgd/g", "--timeout=90s")
    assert waited.code == 0, waited.stderr + process.text()


def made(**more: Any) -> Node:
    """A graph with a frontend and a planner."""
    obj = graph(component("Frontend", "frontend", {"image": "img:1.5.0"}), component("planner", "planner", {"image": "img:1.5.0"}))
    return {**obj, "metadata": {**obj["metadata"], "name": "g", "namespace": "default"}, **more}


def main() -> int:
    """Runs a control plane whose pods become ready at once, and `up` beside it until Ctrl-C; returns its exit code."""
    with tempfile.TemporaryDirectory() as folder, control_plane(build(), Path(folder)) as plane, controllers(plane), Pods(plane):
        print(f"kubectl: {plane.assets / 'kubectl'} --kubeconfig {plane.kubeconfig}", file=sys.stderr, flush=True)
        with subprocess.Popen([*COMMAND, str(plane.kubeconfig)], env=child_process.environment()) as process:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to both; here the end of the other one is waited for
            return process.wait()


if __name__ == "__main__":
    sys.exit(main())
