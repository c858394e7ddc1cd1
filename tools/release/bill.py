"""The bill of materials of the image as CycloneDX 1.6: every installed distribution, with its licence and what it needs."""

from __future__ import annotations

import platform
import uuid
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from pathlib import Path

    from tools.release.source import Source

NAME: Final = "dynamo-webhooks"
EXTRAS: Final = ("server", "cluster")  # of our own distribution, in the image
_SPACE: Final = uuid.UUID("6f1c6a1e-6f0c-5f0e-9d0a-0d9b1c9f7a11")  # any fixed one: the serial number is derived from the content


def bill(packages: Path, source: Source) -> dict[str, Any]:
    """The document for the distributions in a folder of packages."""
    installed = metadata.distributions(path=[str(packages)])
    found: dict[str, metadata.Distribution] = {canonicalize_name(each.metadata["Name"]): each for each in installed}
    refs = {name: _purl(name, each.version) for name, each in sorted(found.items())}
    interpreter = f"pkg:generic/python@{platform.python_version()}"
    needs = {name: [refs[other] for other in _needed(each, name) if other in refs] for name, each in sorted(found.items())}
    needs[NAME].append(interpreter)
    python = {"type": "application", "bom-ref": interpreter, "name": "python", "version": platform.python_version(), "purl": interpreter}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SPACE, ' '.join([source.commit, *refs.values()]))}",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(source.epoch),
            "component": {**_component(found[NAME], refs[NAME]), "type": "application"},
        },
        "components": [*(_component(found[name], ref) for name, ref in refs.items() if name != NAME), python],
        "dependencies": [*({"ref": refs[name], "dependsOn": other} for name, other in needs.items()), {"ref": interpreter}],
    }


def timestamp(epoch: int) -> str:
    """A time as RFC 3339 writes it."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _component(distribution: metadata.Distribution, ref: str) -> dict[str, Any]:
    about = distribution.metadata
    name = canonicalize_name(about["Name"])
    found = {"type": "library", "bom-ref": ref, "name": name, "version": distribution.version, "purl": ref, "licenses": _licences(about)}
    return {key: value for key, value in found.items() if value}


def _licences(about: metadata.PackageMetadata) -> list[dict[str, Any]]:
    """What a distribution says: an SPDX expression, else the names that its classifiers have, else its own short words."""
    if "License-Expression" in about:
        return [{"expression": about["License-Expression"]}]
    classified = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier") or [] if each.startswith("License ::")]
    words = [about["License"]] if "License" in about and len(about["License"]) < 80 else []  # some hold the text as a whole
    return [{"license": {"name": name}} for name in sorted(classified) or words]


def _needed(distribution: metadata.Distribution, name: str) -> list[str]:
    extras = EXTRAS if name == NAME else ("",)
    wanted = [Requirement(text) for text in distribution.requires or []]
    met: set[str] = {
        canonicalize_name(each.name)
        for each in wanted
        if not each.marker or any(each.marker.evaluate({"extra": extra}) for extra in extras)
    }
    return sorted(met - {name})
