"""Writes `cli/installation/shipped.json`, the objects of three overlays, by which `doctor` knows what an installation consists of.

It builds the part of kustomize that these overlays use; tests/cluster/install compares the result with kubectl's. `--check` fails when the
file is stale.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import jsonpatch
import yaml

from dynamo_webhooks.cli.installation.parts import RESOURCES
from tools.written import ROOT, update

Node: TypeAlias = dict[str, Any]
FILE: Final = ROOT / "cli" / "installation" / "shipped.json"
FOLDER: Final = ROOT / "manifests" / "overlays"
OVERLAYS: Final = ("self-signed", "external-certificate", "namespaced")
_FILE: Final = "kustomization.yaml"


def list_objects(folder: Path) -> list[Node]:
    """The objects of a folder with a kustomization."""
    return list(_built(folder, []))


def _built(folder: Path, inherited: list[Node]) -> list[Node]:
    """Builds the objects that a folder makes of its resources, beside those that are given to a component."""
    kustomization = yaml.safe_load((folder / _FILE).read_text(encoding="utf-8"))
    objects = inherited + [each for name in kustomization.get("resources", ()) for each in _read(folder / name)]
    for generator in kustomization.get("configMapGenerator", ()):
        _generate(folder, generator, kustomization.get("generatorOptions", {}), objects)
    for name in kustomization.get("components", ()):
        objects = _built((folder / name).resolve(), objects)
    for patch in kustomization.get("patches", ()):
        objects = list(_patched(folder, patch, objects))
    for each in objects:
        _rename(each, kustomization)
    return objects


def _read(path: Path) -> list[Node]:
    if path.is_dir():
        return _built(path.resolve(), [])
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each]


def _generate(folder: Path, generator: Node, options: Node, objects: list[Node]) -> None:
    """Makes a ConfigMap of files, or replaces the data of one."""
    data = {name: (folder / name).read_text(encoding="utf-8") for name in generator["files"]}
    for each in objects:
        if each["kind"] == "ConfigMap" and each["metadata"]["name"] == generator["name"] and generator.get("behavior") == "replace":
            each["data"] = data
            return
    metadata = {"name": generator["name"], "labels": dict(options.get("labels", {}))}
    objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def _patched(folder: Path, patch: Node, objects: list[Node]) -> Iterator[Node]:
    text = patch.get("patch") or (folder / patch["path"]).read_text(encoding="utf-8")
    change = yaml.safe_load(text)
    target = patch.get("target") or {"kind": change["kind"], "name": change["metadata"]["name"]}
    for each in objects:
        named = re.fullmatch(target.get("name", ".*"), each["metadata"]["name"])
        if each["kind"] != target["kind"] or not named:
            yield each
        elif isinstance(change, list):
            changed = jsonpatch.apply_patch(each, change)
            for binding in objects:  # follows the name of its role
                if (role := binding.get("roleRef", {})).get("name") == each["metadata"]["name"] and role.get("kind") == each["kind"]:
                    role["name"] = changed["metadata"]["name"]
            yield changed
        elif "$patch" not in change:
            yield {**each, **{name: value for name, value in change.items() if name != "metadata"}}


def _rename(obj: Node, kustomization: Node) -> None:
    """Writes namespace, labels and tags of images into an object."""
    metadata = obj["metadata"]
    for labels in kustomization.get("labels", ()):
        metadata["labels"] = {**metadata.get("labels", {}), **labels["pairs"]}
    if namespace := kustomization.get("namespace"):
        if RESOURCES[obj["kind"]].namespaced:
            metadata["namespace"] = namespace
        for subject in obj.get("subjects", ()):
            subject["namespace"] = namespace
    tags = {image["name"]: image["newTag"] for image in kustomization.get("images", ())}
    for container in obj["spec"]["template"]["spec"]["containers"] if obj["kind"] == "Deployment" else ():
        if container["image"] in tags:
            container["image"] += f":{tags[container['image']]}"


def text() -> str:
    """The file: each object once, and by overlay the numbers of its objects."""
    lines: dict[str, int] = {}
    overlays = {
        name: [lines.setdefault(json.dumps(each, ensure_ascii=False), len(lines)) for each in list_objects(FOLDER / name)]
        for name in OVERLAYS
    }
    return f'{{"overlays": {json.dumps(overlays)},\n"objects": [\n' + ",\n".join(lines) + "\n]}\n"


def main(arguments: list[str]) -> int:
    """Writes the file, or with `--check` says that it is stale; returns the exit code."""
    return update({FILE: text().encode()}, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
