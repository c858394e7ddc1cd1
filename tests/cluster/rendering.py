"""What the overlays and the chart come to, as objects. Applying them is the tests' business."""

import copy
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import yaml

from tests.cluster.assets.build import build, build_helm, release_of

Node: TypeAlias = dict[str, Any]
MANIFESTS: Final = Path(__file__).parents[2] / "manifests"
CHART: Final = MANIFESTS / "chart"
RELEASE: Final = "dynamo-webhooks"
GUARD: Final = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")  # of the definitions


class Way(NamedTuple):
    """One way to install: an overlay, and the values that make the chart say the same."""

    overlay: str
    namespace: str
    values: tuple[str, ...]  # KEY=VALUE as helm's --set takes it


WAYS: Final = (
    Way("self-signed", "dynamo-system", ()),
    Way("cert-manager", "dynamo-system", ("webhook.certManager.enabled=true",)),
    Way("external-certificate", "dynamo-system", ("webhook.certificateSecret.external=true",)),
    Way("namespaced", "dynamo-restricted", ("namespaceRestriction.enabled=true",)),
    Way(
        "ha",
        "dynamo-system",
        (
            "controllerManager.replicas=3",
            "controllerManager.topologySpread=DoNotSchedule",
            "provisioner.replicas=2",
            "reconciler.replicas=2",
        ),
    ),
)


def kustomized(folder: Path) -> list[Node]:
    """The objects of a folder with a kustomization, the caller's own."""
    return copy.deepcopy(_kustomized(folder))


@cache
def _kustomized(folder: Path) -> list[Node]:
    done = subprocess.run([build() / "kubectl", "kustomize", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def composed(home: Path, overlay: str, *components: str) -> list[Node]:
    """The objects of an admin's own overlay below `home`: one of ours, with components, whose paths begin at manifests/."""
    manifests = home / overlay / "manifests"
    shutil.copytree(MANIFESTS, manifests, ignore=shutil.ignore_patterns("crds", "templates"))
    own = manifests / "overlays" / "own"
    own.mkdir()
    lines = {"resources": [f"../{overlay}"], "components": [f"../../{each}" for each in components]}
    (own / "kustomization.yaml").write_text(json.dumps({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **lines}))
    return kustomized(own)


def as_written(home: Path, page: str) -> tuple[str, list[Node]]:
    """A page of docs/, and what the folder that it tells a user to write comes to."""
    text = (MANIFESTS.parent / "docs" / page).read_text(encoding="utf-8")
    [written] = re.findall(r"^```yaml\n(resources: .*?)^```$", text, re.MULTILINE | re.DOTALL)
    shutil.copytree(MANIFESTS, home / "dynamo-webhooks" / "manifests")
    own = home / "own"
    own.mkdir()
    (own / "kustomization.yaml").write_text(written)
    return text, kustomized(own)


def helm(*arguments: str, kubeconfig: Path | None = None, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs helm; its own files land below `home`."""
    environment = {"HOME": str(home or kubeconfig.parent if kubeconfig else "/nonexistent")}
    command = [str(build_helm()), *arguments, *(["--kubeconfig", str(kubeconfig)] if kubeconfig else [])]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)


def settings(values: tuple[str, ...]) -> list[str]:
    """Values as flags of helm."""
    return [part for value in values for part in ("--set", value)]


def charted(namespace: str, *values: str, release: str = RELEASE) -> list[Node]:
    """The objects of the chart, the caller's own."""
    return copy.deepcopy(_charted(namespace, values, release))


@cache
def _charted(namespace: str, values: tuple[str, ...], release: str) -> list[Node]:
    done = helm("template", release, str(CHART), "-n", namespace, "--kube-version", release_of(), *settings(values))
    assert done.returncode == 0, done.stderr
    return [obj for obj in yaml.safe_load_all(done.stdout) if obj]


def refused(*values: str) -> str:
    """What helm says instead of rendering."""
    done = helm("template", RELEASE, str(CHART), "-n", "dynamo-system", "--kube-version", release_of(), *settings(values))
    assert done.returncode != 0, "it was rendered"
    return done.stderr


def of_kind(objects: list[Node], *kinds: str) -> list[Node]:
    """Those of some kinds."""
    return [each for each in objects if each["kind"] in kinds]


def restricted(name: str) -> Node:
    """A namespace in which the API server enforces restricted pod security; installations bring none."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }


def key(obj: Node) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
