"""Keeps one copy of equal parts of objects."""

from typing import Any, Final

MAX_GENERATION_PARTS: Final = 8192  # of the cache
_PARTS: Final = frozenset({str, dict, list})


class Interner:
    """A memory of recent parts, in two generations: a part that doesn't come again during one generation is forgotten."""

    def __init__(self) -> None:
        self._now: dict[object, Any] = {}
        self._before: dict[object, Any] = {}

    def __len__(self) -> int:
        return len(self._now) + len(self._before)

    def share(self, obj: dict[str, Any]) -> None:
        """Replace the parts of an object by known equal ones. No other code may use the object."""
        for name, value in obj.items():
            obj[name] = self._part(value)

    def _part(self, value: Any) -> Any:
        """Return an equal value. Parts of a known map or list live as long as it does, so their ids identify them."""
        kind = type(value)
        if kind is str:
            return self._known(value, value)
        if kind is dict:
            for name, part in value.items():
                if type(part) in _PARTS:
                    value[name] = self._part(part)
            return self._known((dict, *value, *map(id, value.values())), value)
        if kind is list:
            value[:] = map(self._part, value)
            return self._known((list, *map(id, value)), value)
        return value

    def _known(self, key: object, value: Any) -> Any:
        known = self._now.get(key)
        if known is None:
            if len(self._now) >= MAX_GENERATION_PARTS:
                self._before, self._now = self._now, {}
            known = self._now[key] = self._before.pop(key, value)
        return known
