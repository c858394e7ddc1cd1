"""Resources: the flat form of v1alpha1 (`cpu`, `memory`, `gpu`, `custom`) and the native one of a container, in canonical quantities.

Both directions make quantities canonical, so that the versions agree on equality; the original text is saved and restored.
"""

from collections.abc import Callable
from typing import Any, Final

from ...api.quantity import spell
from ..lens.protocol import Fields
from ..lens.structs import object_member

GPU: Final = "nvidia.com/gpu"
AMOUNTS: Final = ("limits", "requests")
TO_FLAT: Final = {"cpu": "cpu", "memory": "memory", GPU: "gpu"}
_FLAT: Final = ("cpu", "memory", "gpu")


def _spelled(value: Any) -> str | None:
    """The canonical text of a native quantity; None if it is invalid."""
    return spell(value.strip() if type(value) is str else repr(value) if type(value) in (int, float) else "")


def _spelled_flat(value: Any) -> str | None:
    """The canonical text of a flat quantity, a string without surrounding blanks."""
    return spell(value) if type(value) is str else None


def _canonical(amounts: Fields) -> Fields:
    out: Fields = {}
    for name, value in amounts.items():
        if (text := _spelled(value)) is not None:
            out[name] = text
    return out


def native(resources: Fields) -> Fields:
    """The native form of flat resources, without invalid values and empty parts."""
    return _converted(resources, _native_amounts)


def _converted(resources: Fields, convert: Callable[[Fields], Fields]) -> Fields:
    out: Fields = {}
    for part in AMOUNTS:
        if amounts := convert(object_member(resources, part)):
            out[part] = amounts
    if resources.get("claims"):
        out["claims"] = resources["claims"]
    return out


def _native_amounts(flat: Fields) -> Fields:
    """Custom names come last, to override fixed ones."""
    out: Fields = {}
    for name in _FLAT:
        value = flat.get(name)
        if value is not None and (text := _spelled_flat(value)) is not None:
            out[name if name != "gpu" else _gpu(flat.get("gpuType"))] = text
    if "custom" in flat and (custom := object_member(flat, "custom")):
        for name, value in custom.items():
            if (text := _spelled_flat(value)) is not None:
                out[name] = text
    return out


def _gpu(kind: Any) -> str:
    return kind if type(kind) is str and kind else GPU


def normalize_resources(resources: Fields) -> Fields:
    """Native resources as Kubernetes would print them."""
    return _converted(resources, _canonical)


def override(base: Fields, overlay: Fields) -> Fields:
    """Native resources overridden by an overlay's, key by key; both canonical."""
    out = dict(base)
    for part in AMOUNTS:
        if part in overlay:
            out[part] = {**base.get(part, {}), **overlay[part]}
    if "claims" in overlay:
        out["claims"] = overlay["claims"]
    return out


def flat(resources: Fields) -> Fields:
    """The flat form of canonical native resources."""
    out: Fields = {}
    for part in AMOUNTS:
        if part in resources:
            out[part] = _flat_amounts(resources[part])
    if "claims" in resources:
        out["claims"] = resources["claims"]
    return out


def flat_part(amounts: Fields, written: Fields) -> Fields:
    """Flat limits or requests of canonical native ones, each in its place in `written`, with its text if the amount is equal."""
    if not written:
        return _flat_amounts(amounts)
    custom, kind = object_member(written, "custom"), _gpu(written.get("gpuType"))
    out: Fields = {}
    more: Fields = {}
    for name, amount in amounts.items():
        place = "gpu" if name == kind else TO_FLAT.get(name, "")
        if name in custom or not place or (place == "gpu" and name != kind):
            more[name] = custom[name] if _spelled_flat(custom.get(name)) == amount else amount
            continue
        out[place] = written[place] if _spelled_flat(written.get(place)) == amount else amount
        if place == "gpu" and written.get("gpuType") is not None:
            out["gpuType"] = written["gpuType"]
    if more:
        out["custom"] = more
    return out


def _flat_amounts(amounts: Fields) -> Fields:
    out: Fields = {}
    custom: Fields = {}
    for name, value in amounts.items():
        if name in TO_FLAT:
            out[TO_FLAT[name]] = value
        else:
            custom[name] = value
    if custom:
        out["custom"] = custom
    return out


def reproducible(resources: Fields) -> bool:
    """Whether flat resources round-trip through their native form: canonical, nothing empty, each name in its place."""
    for part, value in resources.items():
        if not value or part not in ("limits", "requests", "claims"):
            return False
        if part != "claims" and not (type(value) is dict and _canonical_flat(value)):
            return False
    return bool(resources)


def _canonical_flat(amounts: Fields) -> bool:
    for name, value in amounts.items():
        if name == "custom":
            if not value or type(value) is not dict:
                return False
            for key, text in value.items():
                if key in TO_FLAT or text is None or _spelled_flat(text) != text:
                    return False
        elif name not in _FLAT or value is None or _spelled_flat(value) != value:
            return False
    return True
