"""Converts an object of a file with the remainder that a server would hold: schema defaults are there when it converts, and the file's
fields stay as they were written. Blocks that switch something on are the exception, and say their defaults: where a manager owns nothing
below them, an apply beside another manager would switch them off. So do empty sections of a request, which v1alpha1 can't say. A sync of
the converted file then finds nothing to write."""

import copy
from contextlib import suppress
from typing import Any, Final

from ....api.kinds import BETA
from ....api.line import Line
from ....api.paths import MISSING, Key, Path, lookup
from ....conversion.engine import Conversion
from ....conversion.kind import property_of
from ....conversion.kinds import KINDS
from ....conversion.legacy import RECORD
from ....conversion.lens.protocol import ConversionError
from ....conversion.objects import Target, convert_object, target
from ....conversion.remainder import reserved_keys
from ....conversion.request import REQUEST, SECTIONS
from ...objects.forms import apply_schema_defaults
from .fields import list_marks

Object = dict[str, Any]
_CHECKPOINT: Final = ("experimental", "checkpoint")
_SWITCH: Final = "enabled"
_TYPE: Final = "componentType"
_TYPES: Final = frozenset(property_of("DynamoComponentDeployment", BETA, "spec", "type")["enum"])


def add_checkpoint_switches(obj: dict[str, Any], wanted: Target) -> tuple[dict[str, Any], list[Path]]:
    """A copy whose checkpoints have a switch, with their places; the very same object where none lacks it, or for line 1.2.

    Costs one look at each component.
    """
    if wanted.line < Line.V1_3 or wanted.version != BETA:
        return obj, []
    listed = lookup(obj, ("spec", "components"))
    parts: list[Path] = [("spec",), *(("spec", "components", index) for index in range(len(listed) if isinstance(listed, list) else 0))]
    places = [(*part, *_CHECKPOINT) for part in parts if _lacks(lookup(obj, (*part, *_CHECKPOINT)))]
    new = copy.deepcopy(obj) if places else obj
    for place in places:
        block: Any = lookup(new, place)
        block[_SWITCH] = True
    return new, places


def leave_out_types(obj: dict[str, Any], wanted: Target) -> tuple[dict[str, Any], list[tuple[Path, str]]]:
    """A copy without component types that v1beta1 refuses, with their places; the very same object where there is none, or for line 1.2.

    On line 1.2 conversion leaves them out and saves them; from line 1.3 on it copies them, as the Go operator does. A type of its own means
    what no type means. Beside a sub-type it stays, and the object isn't converted. Costs one look at each component.
    """
    if wanted.line < Line.V1_3 or wanted.version != BETA:
        return obj, []
    parts = _parts_of_v1alpha1(obj)
    types = [((*part, _TYPE), block[_TYPE]) for part in parts if isinstance(block := lookup(obj, part), dict) and _is_own_type(block)]
    new = copy.deepcopy(obj) if types else obj
    for place, _ in types:
        component: Any = lookup(new, place[:-1])
        del component[_TYPE]
    return new, types


def leave_out_marks(obj: Object) -> Object:
    """A copy without annotations that hold no value of the other version; the very same object where there is none."""
    marks = list_marks(obj)
    if not marks:
        return obj
    annotations = {key: text for key, text in _annotations(obj).items() if key not in marks}
    metadata = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    return {**obj, "metadata": {**metadata, "annotations": annotations} if annotations else metadata}


def find_adapters_off(obj: dict[str, Any], wanted: Target) -> list[Path]:
    """Empty scaling adapters of v1alpha1 on the way to v1beta1, where such a block is on. Costs one look at each component."""
    if wanted.version != BETA:
        return []
    return [place for part in _parts_of_v1alpha1(obj) if _lacks(lookup(obj, place := (*part, "scalingAdapter")))]


def _parts_of_v1alpha1(obj: dict[str, Any]) -> list[Path]:
    """The places where an object may have components."""
    services = lookup(obj, ("spec", "services"))
    return [("spec",), *(("spec", "services", Key(name)) for name in (services if isinstance(services, dict) else ()))]


def _is_own_type(block: dict[str, Any]) -> bool:
    kind = block.get(_TYPE)
    return isinstance(kind, str) and bool(kind) and kind not in _TYPES and block.get("subComponentType") is None


def _lacks(block: Any) -> bool:
    return block is not MISSING and isinstance(block, dict) and block.get(_SWITCH) is None


BLOCKS: Final = frozenset({"gpuMemoryService", "failover", "checkpoint"})


def convert_as_served(obj: Object, wanted: Target) -> Conversion:
    """Convert the object as written, with the remainder of the defaulted one. Raises: ConversionError as `convert_object` does."""
    done = convert_object(_with_sections(obj), wanted, whole=True)
    full = convert_object(_stored(obj, wanted.line), wanted, whole=True).object
    ours = reserved_keys(KINDS[obj["kind"]])
    metadata = dict(done.object["metadata"])
    annotations = {key: text for key, text in _annotations(done.object).items() if key not in ours}
    held = {key: text for key, text in _annotations(full).items() if key in ours}
    if not _annotations(obj).keys() & set(ours):
        held.pop(RECORD, None)  # it would say that older operators wrote nothing, and be written anew at each sync once the file is edited
    annotations |= held
    if annotations:
        metadata["annotations"] = annotations
    elif metadata.get("annotations"):
        del metadata["annotations"]
    converted = {**_with_blocks(done.object, full), "metadata": metadata}
    if "status" not in obj and "status" not in full:
        converted.pop("status", None)  # a manager who applied it would fight with the controller
    return Conversion(_without_marks(converted, target(obj["apiVersion"], wanted.line)), done.damaged)


def _without_marks(obj: Object, back: Target) -> Object:
    """The object without annotations that hold no value, unless it would convert back to another one.

    They say in which version it was written first. A cluster keeps its own: no manager owns them.
    """
    bare = leave_out_marks(obj)
    if bare is not obj:
        with suppress(ConversionError):
            homes = [
                [leave_out_marks(convert_object(form, back, whole=True).object) for form in (variant, _stored(variant, back.line))]
                for variant in (obj, bare)
            ]
            return bare if homes[0] == homes[1] else obj
    return obj


def _stored(obj: Object, line: Line) -> Object:
    """The object as an API server has stored it."""
    stored = apply_schema_defaults(obj, line)
    if type(metadata := stored.get("metadata")) is dict:
        stored["metadata"] = {"uid": "-", **metadata}
    return stored


def _with_sections(obj: Object) -> Object:
    """The object as written, with the defaults of a request's empty sections."""
    spec: Any = obj.get("spec")
    if obj["kind"] != REQUEST.name or type(spec) is not dict:
        return obj
    return {**obj, "spec": {**spec, **{name: defaults for name, defaults in SECTIONS.items() if spec.get(name) == {}}}}


def _with_blocks(written: Any, full: Any) -> Any:
    """The object as written, with the blocks of the defaulted one."""
    if type(written) is dict and type(full) is dict:
        return {name: full.get(name) if name in BLOCKS else _with_blocks(below, full.get(name)) for name, below in written.items()}
    if type(written) is list and type(full) is list and len(written) == len(full):
        return [_with_blocks(*pair) for pair in zip(written, full, strict=True)]
    return written


def _annotations(obj: Object) -> Object:
    return (obj.get("metadata") or {}).get("annotations") or {}
