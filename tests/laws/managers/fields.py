"""Sets of fields, as `metadata.managedFields` holds them. Path elements are written as there: `f:name`, `k:{"name":"a"}`, `v:1`.

Kubernetes: structured-merge-diff's `fieldpath.Set`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.laws.managers.types import Type

Path = tuple[str, ...]


class Fields:
    """A set of paths as a tree: a member belongs to the set itself, a child holds members below it. Never changed once shared."""

    __slots__ = ("children", "members")

    def __init__(self, members: set[str] | None = None, children: dict[str, Fields] | None = None) -> None:
        """An empty set, unless its parts are given."""
        self.members: set[str] = set() if members is None else members
        self.children: dict[str, Fields] = {} if children is None else children

    @classmethod
    def of(cls, *paths: Path) -> Fields:
        """The set of some paths."""
        fields = cls()
        for path in paths:
            fields.insert(path)
        return fields

    def insert(self, path: Path) -> None:
        """Adds a path, but not those above it; the whole object is no field."""
        if not path:
            return
        node = self
        for element in path[:-1]:
            node = node.children.setdefault(element, Fields())
        node.members.add(path[-1])

    def __bool__(self) -> bool:
        """Whether anything is in the set."""
        return bool(self.members) or any(self.children.values())

    def __eq__(self, other: object) -> bool:
        """Equal sets have the same paths."""
        return isinstance(other, Fields) and self.v1() == other.v1()

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: Fields) -> Fields:
        """What is in either."""
        children = dict(self.children)
        for element, child in other.children.items():
            children[element] = children[element] | child if element in children else child
        return Fields(self.members | other.members, children)

    def __and__(self, other: Fields) -> Fields:
        """What is in both."""
        both = {element: child & other.children[element] for element, child in self.children.items() if element in other.children}
        return Fields(self.members & other.members, {element: child for element, child in both.items() if child})

    def __sub__(self, other: Fields) -> Fields:
        """What is in this one alone; a field that goes leaves those below it."""
        return Fields(self.members - other.members, self._below(other, Fields.__sub__))

    def without(self, other: Fields) -> Fields:
        """As the difference, but a field that goes takes along everything below it."""
        children = self._below(other, Fields.without)
        return Fields(self.members - other.members, {element: child for element, child in children.items() if element not in other.members})

    def _below(self, other: Fields, minus: Any) -> dict[str, Fields]:
        children: dict[str, Fields] = {}
        for element, child in self.children.items():
            left = minus(child, other.children[element]) if element in other.children else child
            if left:
                children[element] = left
        return children

    def with_named(self, kind: Type | None) -> Fields:
        """Also the fields of the schema above each path (`EnsureNamedFieldsAreMembers`)."""
        fields = kind.map.fields if kind and kind.map else {}
        named = {element for element in self.children if element.startswith("f:") and element[2:] in fields}
        return Fields(self.members | named, {element: child.with_named(_below(kind, element)) for element, child in self.children.items()})

    def v1(self) -> dict[str, Any]:
        """As `fieldsV1` writes the set."""
        out: dict[str, Any] = {element: {} for element in self.members}
        for element, child in self.children.items():
            if below := child.v1():
                out[element] = {".": {}, **below} if element in self.members else below
        return out

    def paths(self, above: Path = ()) -> Iterator[Path]:
        """All paths of the set."""
        for element in self.members:
            yield (*above, element)
        for element, child in self.children.items():
            yield from child.paths((*above, element))


def _below(kind: Type | None, element: str) -> Type | None:
    if kind is None:
        return None
    if element.startswith("f:") and kind.map:
        return kind.map.fields.get(element[2:], kind.map.extra)
    return kind.list.items if element.startswith("k:") and kind.list else None


NOTHING: Final = Fields()


def read(v1: dict[str, Any]) -> Fields:
    """Reads `fieldsV1`; keys are written as this module writes them, whatever the order or spaces of their JSON."""
    fields = Fields()
    for element, below in v1.items():
        if element == ".":
            continue
        if "." in below or not below:
            fields.members.add(element)
        if any(name != "." for name in below):
            fields.children[element] = read(below)
    return fields
