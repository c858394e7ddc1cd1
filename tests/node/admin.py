"""Runs the commands of the pages as the administrator of a cluster, from a checkout whose manifests name the image of these tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.cluster.assets.build import build_helm
from tests.cluster.harness import ControlPlane
from tests.cluster.rendering import MANIFESTS
from tests.node.image import NAME

_CHART: Final = " dynamo-webhooks manifests/chart"  # in commands of helm


class Admin:
    """Somebody with kubectl, helm and dynamo-webhooks, in a folder with `manifests`."""

    def __init__(self, plane: ControlPlane, folder: Path, manifests: Path = MANIFESTS, image: str = NAME) -> None:
        """Copies the manifests and names the image in them."""
        self._folder = folder
        repository, _, tag = image.rpartition(":")
        self._named = f"{_CHART} --set controllerManager.manager.image.repository={repository},controllerManager.manager.image.tag={tag}"
        shutil.copytree(manifests, folder / "manifests")
        for file in (folder / "manifests").rglob("kustomization.yaml"):
            file.write_text(file.read_text().replace("newTag: 0.1.0", f"newName: {repository}\n    newTag: {tag}"))
        programs = folder / "programs"
        programs.mkdir()
        for program in (plane.assets / "kubectl", build_helm(), Path(sys.executable).with_name("dynamo-webhooks")):
            (programs / program.name).symlink_to(program)
        path = f"{programs}:{os.environ['PATH']}"
        self._environment = {"PATH": path, "HOME": str(folder), "KUBECONFIG": str(plane.kubeconfig), "LANG": "C.UTF-8"}

    def run(self, commands: str, **replaced: str) -> str:
        """What commands print, with texts in them replaced. Fails if one of them fails."""
        for old, new in replaced.items():
            commands = commands.replace(old, new)
        commands = commands.replace(_CHART, self._named)
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", commands],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout
