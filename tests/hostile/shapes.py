"""Objects whose size grows in one way: what a stranger sends who wants the cost to grow faster than the request.

The growth table of the measurements (tests/bench/growth.py) and a test that counts calls (test_growth.py) ask every route about each of
them at several sizes. The objects themselves are in graph_shapes.py and other_shapes.py.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME, GROUP
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.hostile.reviews import Asked, admission, conversion

Fields: TypeAlias = dict[str, Any]
Made: TypeAlias = tuple[Fields, Fields | None]  # the object and, for an update, the stored one

GRAPH: Final = "DynamoGraphDeployment"
COMPONENT: Final = "DynamoComponentDeployment"


class Shape(NamedTuple):
    """One way to be large."""

    name: str
    kind: str
    version: str
    size: int  # the smallest that is measured; others are twice and four times that
    make: Callable[[int], Made]

    @property
    def deep(self) -> bool:
        """Whether it grows in depth, which the JSON decoder bounds, so that it can't be measured at other sizes."""
        return self.name.endswith(", deep")

    def cases(self, size: int) -> Iterator[Asked]:
        """The reviews of every route of the kind, in both versions where there are two; one that can't be converted in its own alone."""
        obj, old = self.make(size)
        found = {self.version: (obj, old)}
        if len(BY_NAME[self.kind].versions) > 1:
            kind, other = KINDS[self.kind], _other(self.version)
            with contextlib.suppress(ConversionError):
                found[other] = (convert(kind, obj, other).object, None if old is None else convert(kind, old, other).object)
        for version, (new, before) in found.items():
            yield from self._reviews(version, new, before)

    def _reviews(self, version: str, obj: Fields, old: Fields | None) -> Iterator[Asked]:
        for route in ROUTES.values():
            if (route.kind, route.version) == (self.kind, version):
                yield admission(route, obj, "CREATE" if old is None else "UPDATE", old)
        if self.kind in KINDS:
            yield conversion([obj], f"{GROUP}/{_other(version)}")


def body(asked: Asked) -> bytes:
    """The text of a review; orjson writes none that is as deep as those it reads."""
    return json.dumps(asked.review, separators=(",", ":")).encode()


def label(asked: Asked) -> str:
    """The route in few words: purpose and version, for a conversion the version that is wanted."""
    route = asked.route
    if route.purpose is Purpose.CONVERT:
        return f"convert to {asked.review['request']['desiredAPIVersion'].partition('/')[2]}"
    return f"{route.purpose.value} {route.version}"


def obj(kind: str, spec: Fields, version: str = ALPHA, **metadata: Any) -> Fields:
    """An object of a kind."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": "g", "namespace": "n", **metadata}, "spec": spec}


def new(kind: str, spec: Fields, version: str = ALPHA, **metadata: Any) -> Made:
    """A create."""
    return obj(kind, spec, version, **metadata), None


def kept(kind: str, spec: Fields, version: str = ALPHA, **metadata: Any) -> Made:
    """An update that changes nothing: whatever is found now was found before."""
    return obj(kind, spec, version, **metadata), obj(kind, spec, version, **metadata)


def names(n: int, form: str = "c{}") -> list[str]:
    """So many different names."""
    return [form.format(index) for index in range(n)]


def named(n: int, form: str = "c{}") -> list[Fields]:
    """So many objects with a name each."""
    return [{"name": name} for name in names(n, form)]


def nested(depth: int, leaf: Any) -> Any:
    """A value at the bottom of lists and objects in turn."""
    for level in range(depth):
        leaf = {"a": leaf} if level % 2 else [leaf]
    return leaf


def _other(version: str) -> str:
    return BETA if version == ALPHA else ALPHA


def everything() -> list[Shape]:
    """All shapes."""
    from tests.hostile.graph_shapes import GRAPHS
    from tests.hostile.other_shapes import OTHERS

    return [*GRAPHS, *OTHERS]
