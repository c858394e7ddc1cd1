"""The commands of the README, in their order, from a clean clone and an empty home, to an installation and back.

Left out is `make test`, which is tested by everybody who runs it. No kubelet runs here: another program plays one, and all servers of the
installation share an address, so that there is one, with a port of its own.
"""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.harness import ControlPlane
from tests.cluster.install import test_up as up
from tests.cluster.planes import Planes
from tests.cluster.processes import Process, free_ports, running, wait_until
from tests.cluster.provisioning import own_address

pytestmark = [pytest.mark.neighbours, pytest.mark.slow("installs packages twice, as a user does")]
README: Final = (up.ROOT / "README.md").read_text(encoding="utf-8")
TRY, ASK, CHECK, INSTALL = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
MINE: Final = "deploy"  # the folder of a user's manifests


class Newcomer:
    """Somebody with Python, git, kubectl, a cluster, and nothing of this project."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.clone, home, programs = folder / "dynamo-webhooks", folder / "home", folder / "programs"
        home.mkdir()
        programs.mkdir()
        (programs / "kubectl").symlink_to(plane.assets / "kubectl")
        path = f"{folder / 'venv' / 'bin'}:{programs}:{os.environ['PATH']}"
        self.environment = {"PATH": path, "HOME": str(home), "KUBECONFIG": str(plane.kubeconfig), "LANG": "C.UTF-8"}
        self.environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}
        self._folder = folder
        self.run(f"git clone -q '{up.ROOT}' '{self.clone}'; python3 -m venv '{folder / 'venv'}'", folder)

    def run(self, text: str, folder: Path | None = None, codes: tuple[int, ...] = (0,)) -> str:
        """What commands print. Fails if they end with another code."""
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", text],
            cwd=folder or self.clone,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode in codes, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, text: str) -> Process:
        """A command that runs until it is asked to end."""
        return Process(
            "serve",
            ["env", "-i", *map("=".join, self.environment.items()), "bash", "-c", f"cd '{self.clone}'; exec {text}"],
            self._folder / "serve.log",
        )


@pytest.fixture
def newcomer(planes: Planes, tmp_path: Path) -> Iterator[tuple[Newcomer, ControlPlane]]:
    with planes.lend(managed=True) as plane:
        yield Newcomer(plane, tmp_path), plane


def _commands(block: str) -> list[str]:
    """The commands of a block, without their comments."""
    return [line.partition("  #")[0].partition("   #")[0].rstrip() for line in block.replace("\\\n", "").splitlines()]


def test_the_commands_of_the_readme_lead_to_an_installation_and_back(newcomer: tuple[Newcomer, ControlPlane], tmp_path: Path) -> None:
    user, plane = newcomer
    serve, test = _commands(TRY)
    assert (serve, test) == ("make serve", "make test")
    with running(user.start(serve)) as server:
        wait_until(lambda: '"uid": "5bd0b8a4"' in server.text(), "the answer", server)
        assert json.loads(user.run(ASK))["response"]["status"]["details"]["kind"] == "DynamoGraphDeployment"
        os.killpg(server.pid, signal.SIGINT)
        wait_until(lambda: server.ended() is not None, "the end after Ctrl-C", server)
        user.run(ASK, codes=(7,))  # curl's code for a refused connection

    user.run(
        f"mkdir {MINE}; cp docs/examples/graph.yaml {MINE}; git add {MINE}; git -c user.name=a -c user.email=a@example.com commit -qm mine"
    )
    user.run("git update-ref refs/remotes/origin/main HEAD")
    pip, *others = _commands(CHECK)
    assert (pip, others[0]) == ("pip install .", f"dynamo-webhooks check {MINE}/")
    user.run(pip)
    for command in others:
        user.run(command)

    others_before = up._others(plane)
    port = str(*free_ports(1, own_address()))
    for file in ("config.yaml", "server.yaml"):
        path = user.clone / "manifests" / "base" / file
        path.write_text(path.read_text().replace("9443", port).replace("replicas: 2", "replicas: 1"))
    with up.Kubelet(plane, tmp_path / "pods", up.NAMESPACE):
        for command in _commands(INSTALL):
            if command != f"kubectl create namespace {up.NAMESPACE}":  # "leave this out if you have it"
                user.run(command)
        user.run(up.BLOCKS["install: kustomize"].splitlines()[-1])
        assert up._refused(plane) == []
        user.run(up.BLOCKS["uninstall: keep the objects"])
    assert up._ours(plane) == []
    assert up._contents(plane) == others_before
    assert len(plane.request("GET", up.PATH).body["items"]) == up.WRITES
