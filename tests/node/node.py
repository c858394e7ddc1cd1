"""A node: the network that it has in this namespace or beside it, and its programs."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.assets.build import NODE, build
from tests.cluster.harness import frugal
from tests.cluster.processes import Process, running, wait_until
from tests.node import programs
from tests.node.image import ENGINE, OLDER_NAME, REPOSITORY
from tests.node.machine import connect_beside, enter
from tests.node.place import Place

IMAGES: Final = "DYNAMO_NODE_IMAGES"  # archives: pause, that of this tree, that of the release before, that of an engine
CGROUPS: Final = "DYNAMO_NODE_CGROUPS"


@dataclass
class Node:
    """A node that runs."""

    place: Place
    runtime: Process
    kubelet: Process
    proxy: Process
    importing: subprocess.Popen[bytes]

    @property
    def processes(self) -> list[Process]:
        return [self.runtime, self.kubelet, self.proxy]

    def start_kubelet(self) -> None:
        """Starts the kubelet again, which somebody has killed."""
        self.kubelet = self.kubelet.again()

    def await_image(self) -> None:
        """Waits until it has the image of this tree."""
        assert self.importing.wait() == 0

    def import_other(self, name: str) -> None:
        """Imports one of the other images."""
        _, _, older, engine = os.environ[IMAGES].split(":")
        ctr(self.place, *_import({OLDER_NAME: older, ENGINE: engine}[name]))


@contextlib.contextmanager
def node(home: Path, place: Place, kubeconfig: Path) -> Iterator[Node]:
    """Runs a node until the end of the block; its images come while it starts."""
    built, folder = build(NODE), home / place.name
    if place.number:
        connect_beside(place)
    with contextlib.ExitStack() as stack:

        def start(name: str, command: list[str | Path]) -> Process:
            return stack.enter_context(running(Process(f"{name} of {place.name}", enter(place, command), folder / f"{name}.log", frugal())))

        folder.mkdir()
        runtime = start("containerd", programs.containerd(folder, place))
        stack.callback(_end_containers, place)
        wait_until(lambda: ctr(place, "version", check=False).returncode == 0, "containerd answering", runtime)
        pause, ours, *_ = os.environ[IMAGES].split(":")
        ctr(place, "images", "import", pause)
        importing = subprocess.Popen(_ctr_command(place, *_import(ours)), stdout=subprocess.DEVNULL)
        cgroups = f"{os.environ[CGROUPS]}/{place.number}"
        kubelet = start("kubelet", programs.kubelet(built, folder, place, kubeconfig, cgroups))
        made = Node(place, runtime, kubelet, start("kube-proxy", programs.proxy(built, folder, place, kubeconfig)), importing)
        try:
            yield made
        finally:
            made.kubelet.stop()  # which may be another by then


def _ctr_command(place: Place, *words: str) -> list[str]:
    return ["ctr", "--address", place.socket, "--namespace", "k8s.io", *words]


def _import(archive: str) -> tuple[str, ...]:
    return "images", "import", "--base-name", REPOSITORY, archive


def ctr(place: Place, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs the client of a node's containerd."""
    return subprocess.run(_ctr_command(place, *words), check=check, capture_output=True, text=True)


def _end_containers(place: Place) -> None:
    """Kills the containers that run, whose processes would outlive containerd."""
    for task in ctr(place, "tasks", "list", "-q").stdout.split():
        ctr(place, "tasks", "kill", "--signal", "SIGKILL", task, check=False)
