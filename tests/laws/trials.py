"""One generated object tried against the laws, and thousands of them from a seed; which laws see what, says test_laws.py."""

import contextlib
import copy
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from dynamo_webhooks.api.line import NEWEST, Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.default import default
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from tests.laws.conftest import LINES
from tests.laws.dice import Dice, Draw, Replay, smallest
from tests.laws.laws import as_bytes, away, different, home, on, version_of, violations
from tests.laws.strategies import edit, make_object, wild

Object = dict[str, Any]
# So many objects are converted again after all of them, last first: what was converted before must not show.
BLOCK: Final = 100


class Trial(NamedTuple):
    """What was tried, and the laws that it broke."""

    broken: list[str]
    obj: Object
    edited: Object | None = None
    line: Line = Line.V1_2

    def __str__(self) -> str:
        """The complaint with all that is needed to keep it as a counterexample."""
        return f"{self.broken} on line {self.line}\nobject: {self.obj}\nedited: {self.edited}"


Attempt = Callable[[Draw, str, str], Trial]


def any_object(draw: Draw, kind: str, version: str) -> Trial:
    """Tries an object and an edit of its conversion: of eight, four are plain, two odd, one hostile and one both (see strategies.py).

    Each is converted as on one of the lines; the fields are those of the newest.
    """
    line = LINES[draw(len(LINES))]
    with on(line):
        return _any_object(draw, kind, version)._replace(line=line)


def _any_object(draw: Draw, kind: str, version: str) -> Trial:
    choice = draw(8)
    odd, hostile = choice in (4, 5, 7), choice in (6, 7)
    obj = decoded(make_object(draw, kind, version, odd=odd, hostile=hostile, line=NEWEST))
    try:
        edited = decoded(edit(draw, away(obj), odd=odd))
        return Trial(violations(obj, edited), obj, edited)
    except Exception as error:  # noqa: BLE001 - that nothing is raised is one of the laws
        return Trial([repr(error)], obj)


def decoded(obj: Object) -> Object:
    """A request that an API server has stored, as it decodes it: with its schema's defaults. Without a model it is a part, and stays one.

    What v1beta1's schema adds below a section shows in v1alpha1 from then on; v1alpha1 requires a state, and so v1beta1 gets a phase; and
    an empty path to mount at, which v1alpha1 can't say, becomes the default.
    """
    if obj["kind"] != "DynamoGraphDeploymentRequest" or not obj["metadata"].get("uid") or (obj.get("spec") or {}).get("model") is None:
        return obj
    obj = copy.deepcopy(obj)
    if version_of(obj) == RIGHT and type(obj["spec"].get("modelCache")) is dict and not obj["spec"]["modelCache"].get("pvcMountPath"):
        obj["spec"]["modelCache"].pop("pvcMountPath", None)
    if version_of(obj) == RIGHT and obj.get("status") and obj["status"].get("phase") is None:
        obj["status"]["phase"] = "Pending"
    default(obj, load_schema(obj["kind"], version_of(obj), Line.V1_2))
    if version_of(obj) == LEFT:
        if not obj.get("status") and away(obj).get("status"):
            obj["status"] = {"state": "Pending"}
        unstored = away({**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name != "uid"}})
        filled = copy.deepcopy(unstored)
        default(filled, load_schema(obj["kind"], RIGHT, Line.V1_2))
        if any(unstored["spec"].get(section) != filled["spec"].get(section) for section in ("modelCache", "workload")):
            return home(away(obj), obj)
    return obj


def wrong_types(draw: Draw, kind: str, version: str) -> Trial:
    """Tries an object that no API server lets through: it converts, or is refused with a reason; and it isn't changed."""
    obj = wild(draw, make_object(draw, kind, version, odd=True, hostile=True, line=NEWEST))
    before = copy.deepcopy(obj)
    try:
        with contextlib.suppress(ConversionError), on(tuple(Line)[draw(len(Line))]):
            home(away(obj), obj)
    except Exception as error:  # noqa: BLE001 - as above
        return Trial([repr(error)], before)
    return Trial([changed] if (changed := different(obj, before)) else [], before)


def search(kind: str, version: str, seed: int, numbers: range) -> str:
    """Tries the objects of these numbers; says what the first one that breaks a law is, made small, or nothing.

    An object is made of the seed and its own number, so it is the same whoever makes it, and however many others there are.
    """
    for start in range(0, len(numbers), BLOCK):
        block: list[tuple[Line, Object, bytes]] = []
        for number in numbers[start : start + BLOCK]:
            for attempt in (any_object, wrong_types):
                dice = Dice(seed, kind, version, number)
                tried = attempt(dice, kind, version)
                if tried.broken:
                    return f"seed {seed}, {kind} {version} number {number}: {_small(attempt, dice.thrown, kind, version)}"
                if attempt is any_object:
                    block.append((tried.line, tried.obj, _converted(tried.line, tried.obj)))
        for line, obj, converted in reversed(block):
            if _converted(line, obj) != converted:
                return f"seed {seed}: what was converted before shows in {obj}"
    return ""


def _small(attempt: Attempt, thrown: list[int], kind: str, version: str) -> Trial:
    def fails(throws: list[int]) -> bool:
        return bool(attempt(Replay(throws), kind, version).broken)

    return attempt(Replay(smallest(thrown, fails)), kind, version)


def _converted(line: Line, obj: Object) -> bytes:
    with on(line):
        return as_bytes(away(obj))
