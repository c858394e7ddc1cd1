"""The places where graphs and components name checkpoints."""

from collections.abc import Iterator
from typing import Any

from ...api.paths import Key, Path, lookup
from ...conversion.lens.protocol import Fields

_PLACES = {"v1alpha1": ("checkpoint", "checkpointRef"), "v1beta1": ("experimental", "checkpoint", "checkpointRef")}


def list_checkpoint_references(kind: str, version: str, obj: Fields) -> Iterator[tuple[Path, str]]:
    """Each reference in an object of either version, with its place."""
    spec = obj.get("spec")
    if version not in _PLACES or not isinstance(spec, dict):
        return
    parts: list[tuple[Path, Any]] = [(("spec",), spec)] if kind == "DynamoComponentDeployment" else []
    if isinstance(services := spec.get("services"), dict):
        parts += [(("spec", "services", Key(name)), service) for name, service in services.items()]
    if isinstance(components := spec.get("components"), list):
        parts += [(("spec", "components", index), component) for index, component in enumerate(components)]
    for path, part in parts:
        name = lookup(part, _PLACES[version]) if isinstance(part, dict) else None
        if isinstance(name, str) and name:
            yield (*path, *_PLACES[version]), name
