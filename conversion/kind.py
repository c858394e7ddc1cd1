"""A converting kind: the structs of its spec and status, their check against the schemas, and annotation keys for remainders."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ..api.line import OLDEST, Line
from ..api.schema import resolve, whole_schema
from .lens.protocol import Fields
from .lens.struct import Struct

LEFT: Final = "v1alpha1"
RIGHT: Final = "v1beta1"
PREFIX: Final = "nvidia.com/"


class Legacy(NamedTuple):
    """Annotations of older operators: their keys, how to read them into the remainder, and how to write them.

    `read(annotations, rightward, spec, status)` gets the usable main remainders (None if absent) and returns those to use;
    `write(source, rightward)` gets the object to convert.
    """

    keys: tuple[str, ...]
    read: Callable[[Fields, bool, Fields | None, Fields | None], tuple[Fields | None, Fields | None]]
    write: Callable[[Fields, bool], dict[str, str]]


class Form:
    """The form in which an object converts that an API server has stored, or a part of one, without completion."""

    __slots__ = ("decode", "object", "part", "stored")

    def __init__(self, obj: Fields, decode: Callable[[Fields], None] | None = None, *, part: bool = False, stored: bool = True) -> None:
        self.object = obj  # the parts to convert
        self.decode = decode  # sets the schema defaults of the converted parts
        self.part = part  # whether it is a part
        self.stored = stored  # whether an API server has stored the object


class Kind(NamedTuple):
    """One declaration; the keys are those of the remainders' annotations, see `remainders`."""

    name: str
    spec_key: str
    status_key: str
    spec: Struct
    status: Struct
    legacy: Legacy | None = None  # reads and writes the annotations of operators 1.0 and 1.1 (requests only)
    # writes implicit defaults of the source into the parts: complete(source, parts, rightward)
    complete: Callable[[Fields, Fields, bool], None] | None = None
    # form(object, rightward, whole) of an object that an API server has stored; None for others; whole: it can't be a part
    form: Callable[[Fields, bool, bool], Form | None] | None = None
    # whether objects have a remainder, even an empty one, in the version in which they weren't written first
    marked: bool = False
    line: Line = OLDEST  # of the definitions that the other version is written for; `kind_of` gives others


def remainder_keys(short: str) -> tuple[str, str]:
    """The two annotation keys of a kind, by the Go operator's short name."""
    return f"{PREFIX}{short}-spec", f"{PREFIX}{short}-status"


def property_of(kind: str, version: str, *path: str) -> dict[str, Any]:
    """The schema of a property, by its path; `*` steps into the values of a map or the elements of a list."""
    node = resolve(whole_schema(kind, version))
    for step in path:
        node = resolve(node.get("additionalProperties") or node["items"]) if step == "*" else resolve(node["properties"][step])
    return node


def check_coverage(struct: Struct, kind: str, left: str, right: str, *, beside: frozenset[str] = frozenset()) -> None:
    """Check one struct, at the path `left` in v1alpha1 and `right` in v1beta1; other lenses claim the members `beside`.

    Raises: DeclarationError.
    """
    lefts = set(property_of(kind, LEFT, *left.split("."))["properties"])
    rights = set(property_of(kind, RIGHT, *right.split("."))["properties"])
    struct.require(f"{kind} {left}", lefts - beside, rights - beside)
