"""A user's overlay of a checkpoint's pod. It has no schema, so its types are checked here."""

from __future__ import annotations

from typing import Final

from ....api.decode import decoder
from ....api.kinds import api_version
from ....api.paths import Path
from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..merge import merge_override, object_items
from ..pod.container import overlay_container

_TYPED: Final = ("spec", "job", "podTemplateSpec")  # path of a checkpoint's typed template


def overlay_of(wanted: Fields, path: Path) -> Fields:
    """The pod template of a component's checkpoint, or an empty one.

    Raises: RenderError naming a field of a wrong type.
    """
    overlay: Fields = (wanted.get("job") or {}).get("podTemplate") or {}
    kind, version = "DynamoCheckpoint", "v1alpha1"
    typed = {"apiVersion": api_version(version), "kind": kind, "spec": {"job": {"podTemplateSpec": overlay}}}
    wrong = [one for one in decoder(kind, version)(typed) if one.path[: len(_TYPED)] == _TYPED] if overlay else []
    if wrong:
        raise RenderError((*path, "job", "podTemplate", *wrong[0].path[len(_TYPED) :]), wrong[0].message)
    return overlay


def overlay_pod(spec: Fields, overlay: Fields) -> Fields:
    """A pod spec overridden by another: containers and volumes by name, others as in `merge`."""
    named = ("containers", "initContainers", "volumes")
    out = merge_override(spec, {name: value for name, value in overlay.items() if name not in named})
    for part in named:
        ours, theirs = object_items(spec.get(part)), {one.get("name"): one for one in object_items(overlay.get(part))}
        put = overlay_container if part == "containers" else merge_override
        both = [put(one, theirs.pop(one.get("name"))) if one.get("name") in theirs else one for one in ours]
        if both or theirs:
            out[part] = [*both, *theirs.values()]
    return out
