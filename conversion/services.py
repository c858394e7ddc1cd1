"""The lenses between maps and lists: services of v1alpha1 by name, ordered components of v1beta1, and their statuses."""

from collections.abc import Iterator
from typing import Any, Final

from ..api.paths import Key, Path
from ..api.wording import article, shorten
from .lens.protocol import Context, ConversionError, Fields, Lens, Row
from .lens.simple import same
from .lens.struct import Struct
from .lens.structs import object_items, object_member

MAX_NAME_CHARACTERS: Final = 80  # in an error


def _by_name(components: list[Fields]) -> dict[str, Fields]:
    return {name: component for component in components if type(name := component.get("name")) is str}


class Services(Lens):
    """A map on the left, a list on the right whose elements have the key as their name."""

    def __init__(self, left: str, right: str, each: Struct) -> None:
        """`each` converts one service, without its name."""
        self.left: tuple[str, ...] = (left,)
        self.right: tuple[str, ...] = (right,)
        self._map, self._list, self.each = left, right, each

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """List the services by name, or in their v1beta1 order."""
        services = left.get(self._map)
        if type(services) is not dict:
            return
        remembered = _by_name(object_items(remainder, self._list))
        components: list[Fields] = []
        saved: Fields = {}
        for name in _order(services, list(remembered)):
            service = services[name]
            if type(service) is not dict:
                if service is None:
                    saved[name] = None
                continue
            below: Fields = {}
            # the name first, for readers
            component = self.each.forward(service, remembered.get(name, {}), below, context, {"name": name})
            components.append(component)
            if below or (not context.has_remainder and "podTemplate" in component):
                saved[name] = below  # empty: marks that the template was composed
        if components:
            right[self._list] = components
        if saved:
            save[self._map] = saved

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Key the components by name; save their order if it isn't that of the names.

        Raises: ConversionError for a name that is not a string or occurs twice.
        """
        remembered = object_member(remainder, self._map)
        services: Fields = {name: None for name, service in remembered.items() if service is None}
        components = right.get(self._list)
        named: list[tuple[str, Fields, bool]] = []
        for index, component in enumerate(components if type(components) is list else []):
            if type(component) is not dict:
                continue
            name = component.get("name") if component.get("name") is not None else ""
            if type(name) is not str:
                raise ConversionError(("spec", self._list, index, "name"), f"must be a string, got {article(name)}")
            if services.get(name) is not None:
                raise ConversionError(
                    ("spec", self._list, index, "name"),
                    f'must be a name that no other component has, got "{shorten(name, MAX_NAME_CHARACTERS)}"',
                )
            below: Fields = {}
            services[name] = self.each.backward(component, object_member(remembered, name), below, context)
            named.append((name, below, bool(below) or (not context.has_remainder and type(component.get("podTemplate")) is dict)))
        if services:
            left[self._map] = services
        order = [name for name, _, _ in named]
        everyone = order != sorted(order)
        if entries := [{"name": name, **below} for name, below, needed in named if needed or everyone]:
            save[self._list] = entries

    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
        """An element's place is its name as key."""
        if len(path) == 1:
            return (self._map,)
        components, step = right.get(self._list), path[1]
        component: Any = None
        if type(components) is list:
            component = (
                components[step]
                if type(step) is int and 0 <= step < len(components)
                else _by_name(object_items(right, self._list)).get(str(step))
            )
        if type(component) is not dict:
            return (self._map,)
        name = component.get("name") or ""
        rest = () if path[2:] == ("name",) else self.each.to_left(path[2:], component, object_member(object_member(left, self._map), name))
        return (self._map, Key(name), *(rest or ()))

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """A key is the name of an element; `translate` makes it an index."""
        if len(path) == 1:
            return (self._list,)
        service = object_member(object_member(left, self._map), str(path[1]))
        return (self._list, Key(path[1]), *(self.each.to_right(path[2:], service) or ()))

    def rows(self) -> Iterator[Row]:
        """The map, then its values."""
        yield Row(f"{self._map}{{}}", f"{self._list}[]", "the key is the name; the order is kept aside")
        for row in self.each.rows():
            yield row.below(f"{self._map}{{}}", f"{self._list}[]")


def _order(services: Fields, remembered: list[str]) -> list[str]:
    """The names in a saved order first, then the others, ascending."""
    if remembered == sorted(remembered):
        return sorted(services)
    known = [name for name in remembered if name in services]
    return [*known, *sorted(services.keys() - set(known))]


class Entries(Lens):
    """A map on both sides whose values convert."""

    def __init__(self, left: str, right: str, each: Struct) -> None:
        """`each` converts one value; saved values without a live entry are dropped."""
        self.left: tuple[str, ...] = (left,)
        self.right: tuple[str, ...] = (right,)
        self._each = each

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Entry by entry."""
        self._convert(left.get(self.left[0]), right, self.right[0], self.left[0], remainder, save, context, rightward=True)

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """The mirror image."""
        self._convert(right.get(self.right[0]), left, self.left[0], self.right[0], remainder, save, context, rightward=False)

    def _convert(
        self, live: Any, target: Fields, to: str, name: str, remainder: Fields, save: Fields, context: Context, *, rightward: bool
    ) -> None:
        if type(live) is not dict:
            return
        run = self._each.forward if rightward else self._each.backward
        remembered, out, saved = object_member(remainder, to), {}, {}
        for key, value in live.items():
            if type(value) is not dict:
                continue
            below: Fields = {}
            out[key] = run(value, object_member(remembered, key), below, context)
            if below:
                saved[key] = below
        if out:
            target[to] = out
        if saved:
            save[name] = saved

    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
        """Rename the map, translate below the key."""
        below = object_member(object_member(right, self.right[0]), str(path[1])) if len(path) > 1 else {}
        written = object_member(object_member(left, self.left[0]), str(path[1])) if len(path) > 1 else {}
        return (self.left[0], *path[1:2], *(self._each.to_left(path[2:], below, written) or ()))

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The mirror image."""
        below = object_member(object_member(left, self.left[0]), str(path[1])) if len(path) > 1 else {}
        return (self.right[0], *path[1:2], *(self._each.to_right(path[2:], below) or ()))

    def rows(self) -> Iterator[Row]:
        """The map, then its values."""
        left, right = self.left[0], self.right[0]
        yield Row(f"{left}{{}}", f"{right}{{}}", "renamed" if left != right else "copied")
        for row in self._each.rows():
            yield row.below(f"{left}{{}}", f"{right}{{}}")


class Names(Lens):
    """The single name is the last of several; another pair is saved, and restored if it matches the live names."""

    left: tuple[str, ...] = ("componentName", "componentNames")
    right: tuple[str, ...] = ("componentNames",)

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Save the pair if the names don't imply it, with the count that the Go operator always writes."""
        names = _names_of(left)
        if names:
            right["componentNames"] = names
        pair = {name: left[name] for name in self.left if left.get(name)}
        if pair != _pair_of(names):
            save.update(pair)
            save["replicas"] = 0

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Restore a saved pair that matches the live names."""
        live = right.get("componentNames") or []
        remembered = {name: remainder[name] for name in self.left if remainder.get(name)}
        pair = remembered if live and _names_of(remembered) == live else _pair_of(live)
        left.update(pair)

    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
        """The plural is on both sides."""
        return path

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """Both are in the plural."""
        return self.right + path[1:] if path[0] == "componentNames" else self.right

    def rows(self) -> Iterator[Row]:
        """One row."""
        yield Row("componentName, componentNames", "componentNames", "the last name is the single one")


def _names_of(left: Fields) -> Any:
    return left.get("componentNames") or ([left["componentName"]] if left.get("componentName") else [])


def _pair_of(names: Any) -> Fields:
    if type(names) is not list or not names:
        return {}
    return {"componentNames": names, **({"componentName": names[-1]} if names[-1] else {})}


REPLICAS: Final = Struct(
    *same("componentKind", "replicas", "updatedReplicas", "readyReplicas", "scheduledReplicas", "runtimeNamespace", "availableReplicas"),
    *same("gpusPerEngine", "gpusPerReplica", "gpuPowerLimitWatts", "runtimeComponentName", "servedModelName"),
    Names(),
)
