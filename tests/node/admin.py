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

_REPOSITORY, _, _TAG = NAME.rpartition(":")
_MANAGER: Final = f"--set controllerManager.manager.image.repository={_REPOSITORY} --set controllerManager.manager.image.tag={_TAG}"


class Admin:
    """Somebody with kubectl, helm and dynamo-webhooks, in a folder with `manifests`."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        """Copies the manifests and names the image in them."""
        self._folder = folder
        shutil.copytree(MANIFESTS, folder / "manifests")
        base = folder / "manifests" / "base" / "kustomization.yaml"
        base.write_text(base.read_text().replace("newTag: 0.1.0", f"newName: {_REPOSITORY}\n    newTag: {_TAG}"))
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
        commands = commands.replace(
            "helm install dynamo-webhooks manifests/chart", f"helm install dynamo-webhooks manifests/chart {_MANAGER}"
        )
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
