"""Damage to a review as JSON: places in it are drawn, and what stands there is taken away, doubled, replaced or spoiled.

What no tree can hold (a member twice, half of a surrogate pair, a number of a hundred digits, a thousand levels) is written into the text
at a marker that stands for it in the tree. What may be answered then, judging.py says.
"""

from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, Final, NamedTuple

import orjson

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import Node, load_schema, resolve
from tests.hostile import damage
from tests.hostile.reviews import Asked
from tests.hostile.values import DEPTHS, KEYS, OPERATIONS, RAW, VALUES
from tests.laws.hostile import DAMAGED, SHORT, annotations_for

_RESERVED: Final = tuple(f"nvidia.com/{short}-{part}" for short in SHORT.values() for part in ("spec", "status"))
_MEMBERS: Final = ("operation", "uid", "object", "oldObject", "objects", "userInfo")
_DEEPEST: Final = 3  # levels of a schema that names of fields are taken from: down to those of components
_NESTS: Final = ((b"[", b"", b"]"), (b'{"a":', b"1", b"}"), (b'[{"name":', b'"main"', b"}]"))


@cache
def field_names(depth: int) -> tuple[str, ...]:
    """The names of fields that some kind or version has at a depth."""
    names: set[str] = set()
    for kind, version in list_kind_versions(Line.V1_6):
        nodes = [resolve(load_schema(kind, version, Line.V1_6))]
        for _ in range(depth):
            nodes = [below for node in nodes for below in _below(node)]
        names |= {name for node in nodes for name in node.get("properties") or ()}
    return tuple(sorted(names))


def _below(node: Node) -> Iterator[Node]:
    members = (*(node.get("properties") or {}).values(), node.get("additionalProperties"), node.get("items"))
    yield from (resolve(member) for member in members if isinstance(member, dict))


class Mutant(NamedTuple):
    """A damaged review; `whole`: its envelope is untouched and it is JSON by any account, so that it must be answered by its uid."""

    body: bytes
    whole: bool


class Place(NamedTuple):
    """Where something stands: `holder[key]`."""

    holder: Any
    key: Any

    @property
    def value(self) -> Any:
        """What stands there."""
        return self.holder[self.key]

    def put(self, value: Any) -> None:
        """Lets something else stand there."""
        self.holder[self.key] = value


class Surgeon:
    """Damages one review after another, by the throws of one seeded source."""

    def __init__(self, random: Random) -> None:
        """Draws from `random` and from nothing else."""
        self._random = random
        self._raw: list[bytes] = []
        self._doubtful = False
        self._donor: Any = None
        self._ways: tuple[Callable[[Place], None], ...] = (
            *(self._remove, self._remove, self._nothing, self._other, self._other, self._other, self._rename, self._wrapped),
            *(self._double, self._text, self._again, self._many, self._transplant, self._transplant, self._number, self._spoiled_text),
            *(self._foreign, self._foreign),
        )
        self._rare: tuple[Callable[[Place], None], ...] = (self._huge, self._unsayable, self._unsayable, self._deep, self._double)

    def mutant(self, case: Asked) -> Mutant:
        """One damaged form of a review, which itself stays as it is."""
        self._raw.clear()
        self._doubtful = False
        tree = orjson.loads(orjson.dumps(case.review))
        envelope = self._random.random() < 0.12
        for _ in range(1 + int(self._random.random() ** 2 * 5)):
            if envelope:
                self._envelope(tree)
            else:
                self._inside(tree["request"], case)
        self._donor = case.review
        body = self._written(tree)
        if self._random.random() < 0.15:
            return Mutant(damage.damaged(self._random, body), whole=False)
        return Mutant(body, whole=not envelope and not self._doubtful)

    def _one(self, values: Any) -> Any:
        return values[int(self._random.random() * len(values))]

    def _copied(self, value: Any) -> Any:
        return orjson.loads(orjson.dumps(value)) if type(value) in (dict, list) else value

    def _envelope(self, tree: Any) -> None:
        request = tree.get("request")
        if self._random.random() < 0.3 and type(request) is dict:
            request[self._one(_MEMBERS)] = self._copied(self._one((*OPERATIONS, *VALUES)))
            return
        place = self._place(tree)
        if place is not None:
            self._one(self._ways)(place)

    def _inside(self, request: Any, case: Asked) -> None:
        """Damages an object of the review."""
        objects = request.get("objects")
        if type(objects) is list:
            root = Place(objects, int(self._random.random() * len(objects))) if objects else Place(request, "objects")
        else:
            root = Place(request, "oldObject" if request.get("oldObject") is not None and self._random.random() < 0.3 else "object")
            if root.key not in request:
                request[root.key] = None
        chance = self._random.random()
        if chance < 0.12 and type(root.value) is dict:
            self._annotate(root.value, case)
            return
        place = self._place(root.value) or root
        self._one(self._rare if chance > 0.94 else self._ways)(place)

    def _place(self, root: Any) -> Place | None:
        """A place below a value, deeper ones as likely as shallow ones; None below what holds nothing."""
        place: Place | None = None
        while type(root) in (dict, list) and root:
            if place is not None and self._random.random() < 0.18:
                break
            place = Place(root, self._one(list(root)) if type(root) is dict else int(self._random.random() * len(root)))
            root = place.value
        return place

    def _marker(self, raw: bytes) -> str:
        self._raw.append(raw)
        return f"\x01{len(self._raw) - 1}\x01"

    def _written(self, tree: Any) -> bytes:
        body = orjson.dumps(tree) if not self._random.random() < 0.02 else orjson.dumps(tree, option=orjson.OPT_INDENT_2)
        for index, raw in reversed(list(enumerate(self._raw))):
            body = body.replace(f'"\\u0001{index}\\u0001"'.encode(), raw)
        return body

    # the ways: each leaves a tree that can be written

    def _remove(self, place: Place) -> None:
        del place.holder[place.key]

    def _nothing(self, place: Place) -> None:
        place.put(None)

    def _other(self, place: Place) -> None:
        place.put(self._copied(self._one(VALUES)))

    def _text(self, place: Place) -> None:
        place.put("".join(str(self._one(VALUES)) for _ in range(3)))

    def _number(self, place: Place) -> None:
        place.put(self._random.choice((1, -1)) * 2 ** int(self._random.random() * 63) + self._one((0, 1, -1)))

    def _wrapped(self, place: Place) -> None:
        place.put(self._one(([place.value], {self._one(KEYS): place.value}, [place.value, self._copied(place.value)])))

    def _rename(self, place: Place) -> None:
        if type(place.holder) is dict:
            value = place.holder.pop(place.key)
            place.holder[self._one(KEYS) if self._random.random() < 0.7 else place.key.swapcase()] = value

    def _again(self, place: Place) -> None:
        """The same value elsewhere: a list's item twice, a map's under another key."""
        if type(place.holder) is list:
            place.holder.insert(self._one(range(len(place.holder))), self._copied(place.value))
        else:
            place.holder[self._one(KEYS)] = self._copied(place.value)

    def _many(self, place: Place) -> None:
        count = self._one((7, 30, 30, 300))
        small = len(orjson.dumps(place.value)) < 2_000
        if type(place.holder) is list and small:
            place.holder.extend(self._copied(place.value) for _ in range(count))
        elif type(place.value) is dict:
            place.value.update((f"{self._one(KEYS)[:20]}{index}", self._copied(self._one(VALUES))) for index in range(count))

    def _transplant(self, place: Place) -> None:
        """Puts in what stands somewhere in the review that was damaged before."""
        donor = self._place(self._donor)
        place.put(self._copied(donor.value) if donor is not None else None)

    def _foreign(self, place: Place) -> None:
        """A field that some kind or version has, here or elsewhere: an API server drops it, a client that calls the webhook sends it."""
        holder = place.value if type(place.value) is dict else place.holder
        if type(holder) is dict:
            holder[self._one(field_names(1 + int(self._random.random() * _DEEPEST)))] = self._copied(self._one(VALUES))
        else:
            self._other(place)

    def _spoiled_text(self, place: Place) -> None:
        if type(place.value) is str:
            place.put(damage.damaged(self._random, place.value.encode()).decode(errors="replace"))
        else:
            self._other(place)

    def _double(self, place: Place) -> None:
        """A member twice, the second as it was."""
        if type(place.holder) is dict and type(place.key) is str and "\x01" not in place.key:
            value, first = place.value, orjson.dumps(self._one(VALUES))
            key = orjson.dumps(place.key)
            self._remove(place)
            place.holder[self._marker(key + b":" + first + b"," + key)] = value

    def _huge(self, place: Place) -> None:
        unit = self._one(("x", "\u2028", "\\", '"', "\x7f", "a\u0301", "🙂"))
        place.put(unit * self._one((300, 5_000, 5_000, 70_000, 400_000)))

    def _unsayable(self, place: Place) -> None:
        self._doubtful = True
        place.put(self._marker(self._one(RAW)))

    def _deep(self, place: Place) -> None:
        depth, (begin, middle, end) = self._one(DEPTHS), self._one(_NESTS)
        self._doubtful = self._doubtful or depth > 400
        place.put(self._marker(begin * depth + middle + end * depth))

    def _annotate(self, obj: Any, case: Asked) -> None:
        """Damages the reserved annotations of an object, or gives it such."""
        metadata = obj.get("metadata")
        if type(metadata) is not dict:
            metadata = obj["metadata"] = {}
        annotations = metadata.get("annotations")
        if type(annotations) is not dict:
            annotations = metadata["annotations"] = {}
        there = [key for key in annotations if key in _RESERVED and type(annotations[key]) is str]
        if there and self._random.random() < 0.7:
            key = self._one(there)
            annotations[key] = self._respoken(annotations[key])
            return
        kind = obj.get("kind")
        if case.route.purpose is Purpose.CONVERT and type(kind) is str and kind in SHORT and self._random.random() < 0.7:
            annotations.update(annotations_for(self, kind, str(obj.get("apiVersion")).rpartition("/")[2]))
            return
        annotations[self._one(_RESERVED)] = self._copied(self._one((*DAMAGED, *VALUES)))

    def _respoken(self, text: str) -> str:
        """A remainder with one place in it changed, or its text spoiled."""
        try:
            tree = orjson.loads(text)
        except orjson.JSONDecodeError:
            tree = None
        place = self._place(tree)
        if place is None or self._random.random() < 0.3:
            return damage.damaged(self._random, text.encode()).decode(errors="replace")
        self._one((self._remove, self._nothing, self._other, self._other, self._rename, self._wrapped, self._again, self._many))(place)
        return orjson.dumps(tree).decode()

    # what `annotations_for` draws with

    def one_of(self, values: tuple[Any, ...]) -> Any:
        """One of the values."""
        return self._one(values)

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self._random.random() * one_in < 1
