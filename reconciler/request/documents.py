"""Reads YAML that another program wrote, within bounds: size, depth, and how much aliases may repeat. Pure."""

import json
import math
from dataclasses import dataclass
from typing import Any, Final

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.resolver import Resolver

MAX_TEXT_CHARACTERS: Final = 1024 * 1024  # a ConfigMap holds no more
MAX_LEVELS: Final = 100  # of maps and lists
MAX_VALUES: Final = 100_000  # of one text, those of aliases counted at each use
_READ: Final = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))
_MAX_NUMBER_CHARACTERS: Final = 100  # characters of one
_ABSENT: Final = object()


class UnreadableError(Exception):
    """A text that is no YAML, or exceeds a bound; the message describes the problem."""

    def __init__(self, message: str, values: int = 0) -> None:
        """`values` is the number of values that were read before the problem."""
        super().__init__(message)
        self.values = values


@dataclass(slots=True)
class _OpenCollection:
    """A map or list whose end has not come yet."""

    value: Any  # dict or list
    anchor: str | None
    began: int  # values before it
    key: Any = _ABSENT  # of a map, whose value has not come yet
    depth: int = 0  # levels below it


def read_documents(text: str) -> list[Any]:
    """All documents of a text, in their order. Raises: UnreadableError, whose message begins with the number of the document."""
    return read(text)[0]


def read(text: str, most: int = MAX_VALUES) -> tuple[list[Any], int]:
    """Reads documents as `read_documents`, and counts their values, at most `most`; 15 microseconds a value. Raises: UnreadableError."""
    if len(text) > MAX_TEXT_CHARACTERS:
        raise UnreadableError(f"must be at most {MAX_TEXT_CHARACTERS} characters, got {len(text)}")
    reader = _Reader(most)
    try:
        parser = (yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)(text)
        while (event := parser.get_event()) is not None:
            reader.take(event)
            if isinstance(event, yaml.StreamEndEvent):
                break
    except (yaml.YAMLError, ConstructorError, ValueError, OverflowError) as error:
        problem = getattr(error, "problem", None) or str(error)
        raise reader.refused(f"is no YAML: {str(problem)[:200]}") from None
    return reader.found, reader.values


class _Reader:
    """Builds values from events, without recursion."""

    def __init__(self, most: int) -> None:
        self.found: list[Any] = []
        self.values, self._most = 0, most
        self._open: list[_OpenCollection] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}  # what one names: its value, size, and the levels that it adds
        self._resolver = Resolver()
        self._constructor = SafeConstructor()

    def take(self, event: Any) -> None:
        """One event. Raises: UnreadableError, YAMLError."""
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._scalar(event), event.anchor, 1, 0)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            done = self._open.pop()
            self._add(done.value, done.anchor, self.values - done.began, done.depth + 1, counted=True)
        elif isinstance(event, yaml.AliasEvent):
            known = self._anchors.get(str(event.anchor))
            if known is None:
                raise self.refused(f"alias {str(event.anchor)[:40]} must name an earlier value")
            value, size, depth = known
            self._add(value, None, size, depth)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._anchors.clear()

    def _begin(self, value: Any, anchor: str | None) -> None:
        if len(self._open) >= MAX_LEVELS:
            raise self.refused(f"must be nested at most {MAX_LEVELS} levels deep")
        self._open.append(_OpenCollection(value, anchor, self.values))
        self.values += 1

    def _add(self, value: Any, anchor: str | None, size: int, depth: int, *, counted: bool = False) -> None:
        self.values += 0 if counted else size
        if self.values > self._most:
            raise self.refused(f"must have at most {self._most} values")
        if len(self._open) + depth > MAX_LEVELS:
            raise self.refused(f"must be nested at most {MAX_LEVELS} levels deep")
        if anchor:
            self._anchors[anchor] = value, size, depth
        if not self._open:
            self.found.append(value)
            return
        holder = self._open[-1]
        holder.depth = max(holder.depth, depth)
        if isinstance(holder.value, list):
            holder.value.append(value)
        elif holder.key is _ABSENT:
            if isinstance(value, (dict, list)):
                raise self.refused("a key must be text")
            holder.key = value if isinstance(value, str) else json.dumps(value)
        else:
            holder.value[holder.key] = value
            holder.key = _ABSENT

    def _scalar(self, event: Any) -> Any:
        """A value of JSON: what YAML has beside those stays text."""
        text = event.value
        if not event.implicit[0] or len(text) > _MAX_NUMBER_CHARACTERS:
            return text
        tag = self._resolver.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        if tag not in _READ:
            return text
        value = self._constructor.yaml_constructors[tag](self._constructor, yaml.ScalarNode(tag, text))
        return text if isinstance(value, float) and not math.isfinite(value) else value

    def refused(self, why: str) -> UnreadableError:
        """An error at this place."""
        return UnreadableError(f"document {len(self.found) + 1} {why}", self.values)
