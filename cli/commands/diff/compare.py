"""Compares two objects of one version beside their schema: lists with keys by key, quantities by amount, order where it means something."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ....api.paths import MISSING, Key, Path
from ....api.quantity import is_quantity, parse
from ....api.schema import Node, resolve
from ....api.shape import child
from ....conversion.difference import DEPTH, are_identical, same_text
from .secrets import is_secret_flag, is_secret_variable

ADDED: Final = "added"
REMOVED: Final = "removed"
CHANGED: Final = "changed"
ORDER: Final = "order"  # the same entries, in another order

# lists whose order is read from front to back, although their entries have names
_ORDERED: Final = frozenset({"env", "envs", "initContainers"})
_BY_NAME: Final = ("name",)


class Change(NamedTuple):
    """One difference; an absent side is None. `spelling`: both sides mean the same. `secret`: the surrounding text indicates a secret."""

    path: Path
    what: str
    before: Any
    after: Any
    spelling: bool = False
    secret: bool = False


def compare_objects(old: Any, new: Any, schema: Node | None, path: Path = ()) -> list[Change]:
    """The differences of two values, in an order that depends on neither side's order of keys."""
    return list(_compare(old, new, schema, path))


def _compare(old: Any, new: Any, node: Node | None, path: Path) -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict) and len(path) < DEPTH:
        for name in sorted(old.keys() | new.keys()):
            step, below = child(node, name)
            yield from _compare(old.get(name, MISSING), new.get(name, MISSING), below, (*path, step))
    elif isinstance(old, list) and isinstance(new, list) and len(path) < DEPTH:
        yield from _lists(old, new, node, path)
    elif old is MISSING or new is MISSING:
        yield _one_sided(old, new, node, path)
    # values too deep for recursion are compared as text
    elif not (same_text(old, new) if isinstance(old, (dict, list)) else are_identical(old, new)):
        yield Change(path, CHANGED, old, new, _is_same_amount(old, new, node, path))


def _one_sided(old: Any, new: Any, node: Node | None, path: Path) -> Change:
    what, value = (ADDED, new) if old is MISSING else (REMOVED, old)
    before, after = (None, value) if old is MISSING else (value, None)
    # an empty list or map says what its absence says; an empty block may switch something on
    same = value == [] or (value == {} and "additionalProperties" in resolve(node or {}))
    return Change(path, what, before, after, same)


def _is_same_amount(old: Any, new: Any, node: Node | None, path: Path) -> bool:
    if not _holds_quantity(node, path) or not is_quantity(old) or not is_quantity(new):
        return False
    return parse(old) == parse(new)


def _holds_quantity(node: Node | None, path: Path) -> bool:
    """Whether a field is a quantity: by its schema, or as one of the texts of v1alpha1 that are read as quantities."""
    here = resolve(node or {})
    typed = bool(here.get("x-kubernetes-int-or-string")) and "pattern" in here
    return typed or (here.get("type") == "string" and ("resources" in path or path[-2:] == ("sharedMemory", "size")))


def _lists(old: list[Any], new: list[Any], node: Node | None, path: Path) -> Iterator[Change]:
    olds, news = _keyed(old, node), _keyed(new, node)
    if olds is None or news is None:
        yield from _by_index(old, new, node, path)
        return
    for key in sorted(olds.keys() | news.keys()):
        below = child(node, 0).node
        yield from _compare(olds.get(key, MISSING), news.get(key, MISSING), below, (*path, Key(key)))
    stayed = [key for key in olds if key in news]
    if stayed != [key for key in news if key in olds]:
        means = path[-1:] and path[-1] in _ORDERED
        yield Change(path, ORDER, stayed, [key for key in news if key in olds], not means)


def _by_index(old: list[Any], new: list[Any], node: Node | None, path: Path) -> Iterator[Change]:
    if resolve(node or {}).get("x-kubernetes-list-type") == "set" and sorted(map(repr, old)) == sorted(map(repr, new)):
        yield Change(path, ORDER, old, new, spelling=True)
    elif len(old) != len(new):
        yield Change(path, CHANGED, old, new)
    else:
        for index, (mine, theirs) in enumerate(zip(old, new, strict=True)):
            secret = index > 0 and (is_secret_flag(old[index - 1]) or is_secret_flag(new[index - 1]))
            # variables that share a name are no map, and a path without names is ambiguous
            variable = is_secret_variable(mine) or is_secret_variable(theirs)
            value = (*path, index, "value")
            for change in _compare(mine, theirs, child(node, index).node, (*path, index)):
                yield change._replace(secret=True) if secret or (variable and change.path == value) else change


def _keyed(items: list[Any], node: Node | None) -> dict[str, Any] | None:
    """The entries by the keys of the schema, else by name; None if these don't identify them."""
    names = tuple(resolve(node or {}).get("x-kubernetes-list-map-keys") or _BY_NAME)
    found: dict[str, Any] = {}
    for item in items:
        if not isinstance(item, dict) or not all(isinstance(item.get(name), (str, int)) for name in names):
            return None
        found["/".join(str(item[name]) for name in names)] = item
    return found if len(found) == len(items) else None
