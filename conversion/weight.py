"""Weight of an object's remainder: how near it comes to the limit of annotations in the kind's other version, and its largest field.

bounds.py handles remainders that don't fit.
"""

from typing import Any, Final, NamedTuple

from ..api.kinds import BY_NAME
from ..api.paths import Path
from ..api.schema import whole_schema
from ..api.shape import child
from .bounds import MAX_ANNOTATION_BYTES, annotation_size, least
from .engine import convert
from .kind import LEFT, RIGHT, Kind
from .lens.protocol import ConversionError, Fields
from .remainder import Remainder, encode, packable, read_remainder, reserved_keys

WARNING_BYTES: Final = MAX_ANNOTATION_BYTES // 2  # bytes of all annotations
LIGHT_BYTES: Final = WARNING_BYTES // 2  # bytes of an object below which no remainder can be that long
OTHER_VERSION: Final = {LEFT: RIGHT, RIGHT: LEFT}
_GRAPH: Final = "DynamoGraphDeployment"
_MAX_STEPS: Final = 8  # of a path: each one costs as much as the object's length


class Weight(NamedTuple):
    """The result for one object: the largest field, in the author's version, and the bytes of all annotations."""

    path: Path
    bytes: int
    other: str  # the annotations' version
    forgiven: bool = False  # whether it is only a warning

    @property
    def refused(self) -> bool:
        """Whether the write is refused."""
        return self.bytes > MAX_ANNOTATION_BYTES and not self.forgiven

    @property
    def text(self) -> str:
        """A sentence without the field, short enough for a warning."""
        share = f"{-(-self.bytes // 1024)} of {MAX_ANNOTATION_BYTES // 1024} KiB of annotations"
        if self.bytes <= MAX_ANNOTATION_BYTES:
            return f"takes {share} in {self.other}; more is refused"
        return f"must be smaller: {f'{share} in {self.other}; read-only there' if self.forgiven else f'in {self.other} it needs {share}'}"


def weigh(kind: Kind, obj: Fields, version: str, old: Fields | None = None) -> Weight | None:
    """Returns the weight of an object in the other version; None for a light one. A short object isn't converted.

    `old` is the object that an update changes. Raises: ConversionError.
    """
    # managedFields don't count
    if len(encode(((obj.get("metadata") or {}).get("annotations"), obj.get("spec"), obj.get("status")))) < LIGHT_BYTES:
        return None
    return weight(kind, obj, version, convert(kind, obj, OTHER_VERSION[version], whole=True).object, old)


def weight(kind: Kind, obj: Fields, version: str, there: Fields, old: Fields | None = None) -> Weight | None:
    """Returns the weight for a given `whole` conversion; None for a light one. The author's own annotations alone cause no warning."""
    annotations = (there.get("metadata") or {}).get("annotations") or {}
    if annotation_size(annotations) < WARNING_BYTES:
        return None
    size, other = least(annotations, packable(kind)), OTHER_VERSION[version]
    if size < WARNING_BYTES:
        return None
    remainder, _ = read_remainder(kind, annotations, version == RIGHT)
    if size <= MAX_ANNOTATION_BYTES and not remainder.has_values:
        return None
    path = _heaviest(kind, obj, version, _content(kind, obj, remainder), remainder.differences)
    return Weight(path, size, other, size > MAX_ANNOTATION_BYTES and _is_forgiven(kind, obj, old, version))


def _is_forgiven(kind: Kind, obj: Fields, old: Fields | None, version: str) -> bool:
    """Whether a length is only a warning: the object was too long before, or is made of a stored graph.

    Never in a version that isn't stored: the API server refuses such a write.
    """
    if version != BY_NAME[kind.name].stored(kind.line):
        return False
    owners = (obj.get("metadata") or {}).get("ownerReferences") or ()
    if any(type(owner) is dict and owner.get("kind") == _GRAPH for owner in owners):
        return True
    try:
        before = None if old is None else weigh(kind, old, version)
    except ConversionError:
        return False
    return before is not None and before.bytes > MAX_ANNOTATION_BYTES


def _content(kind: Kind, obj: Fields, remainder: Remainder) -> Fields:
    """The content of annotations, in the form of the author's object."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    own = {key: text for key, text in annotations.items() if key not in reserved_keys(kind)}
    return {"metadata": {"annotations": own}, "spec": remainder.spec, "status": remainder.status}


def _heaviest(kind: Kind, obj: Any, version: str, content: Any, differences: list[Any]) -> Path:
    """Follow the larger half as long as there is one and the object has that field."""
    path: list[str | int] = []
    node, whole = whole_schema(kind.name, version), 0
    while len(path) < _MAX_STEPS:
        parts = _parts(content, differences, len(path))
        part = max(parts, key=lambda each: parts[each], default=None)
        if part is None or parts[part] * 2 < whole or (step := _step(obj, content, part)) is None:
            break
        whole = parts[part]
        content = content[part] if _step(content, None, part) is not None else None
        differences = [entry for entry in differences if len(entry[0]) > len(path) and entry[0][len(path)] == part]
        obj = obj[step]
        known, below = child(node, step)
        node = below or {}
        path.append(known)
    return tuple(path)


def _parts(content: Any, differences: list[Any], depth: int) -> dict[str | int, int]:
    """The characters of each part of a block: in the sparse object, and in entries whose paths go beyond `depth`."""
    steps = content.items() if type(content) is dict else enumerate(content) if type(content) is list else ()
    sizes: dict[str | int, int] = {step: len(encode(value)) for step, value in steps}
    for entry in differences:
        if len(entry[0]) > depth:
            sizes[entry[0][depth]] = sizes.get(entry[0][depth], 0) + len(encode(entry))
    return sizes


def _step(value: Any, content: Any, part: str | int) -> str | int | None:
    """The step to a part of a value's content: sparse lists name their items, or have all of them."""
    if type(value) is dict:
        return part if part in value else None
    if type(value) is not list or type(part) is not int:
        return None
    item = content[part] if type(content) is list and part < len(content) else None
    if type(item) is dict and "name" in item:
        return next((index for index, each in enumerate(value) if type(each) is dict and each.get("name") == item["name"]), None)
    return part if part < len(value) and (type(content) is not list or len(content) == len(value)) else None
