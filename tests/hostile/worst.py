"""Searches for the body of a size that costs most: begins with known families, and climbs by small changes of the worst so far.

`python -m tests.hostile.worst` prints the worst of each size and route. Costs are CPU time, and beside it that of an ordinary body of the
same size, measured in the same run.
"""

import itertools
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, NamedTuple

import orjson

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.conversion.bounds import compress
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.limits import Limits, is_light
from dynamo_webhooks.webhooks.routes import CONVERT, ROUTES, Route, route_path
from tests.bench.table import Table
from tests.hostile.settings import SEARCH_SEED
from tests.webhooks.requests import conversion, review

Fields = dict[str, Any]
ALPHA: Final = "v1alpha1"
BETA: Final = "v1beta1"
GRAPH: Final = "DynamoGraphDeployment"
KEY: Final = "nvidia.com/dgd-spec"
SETTINGS: Final = Settings(Facts())
DEADLINE_SECONDS: Final = 20.0  # of CPU for one search
SIZES: Final = tuple(1024 * int(each) for each in os.environ.get("HOSTILE_WORST_KIB", "2 16").split())
TRIALS: Final = int(os.environ.get("HOSTILE_TRIALS", "24"))
COSTLIEST: Final = "Costliest bodies"  # the section of docs/bench.md
# times what a byte of an ordinary conversion costs, about 0.1 ms a KiB; validation converts in two ways, if an annotation keeps values
MAX_TIMES: Final = {Purpose.CONVERT: 60, Purpose.MUTATE: 60, Purpose.VALIDATE: 120}
MAX_TIMES_IN_LOOP: Final = 16  # times what 32 KiB of them cost, about 3 ms
# what a body is full of
ITEMS: Final[dict[str, Callable[[int], Any]]] = {
    "empty maps": lambda _: {},
    "nulls": lambda _: None,
    "numbers": lambda index: index * 1e17,
    "named": lambda index: {"name": f"n{index}"},
    "namesakes": lambda _: {"name": "main"},
    "mounts": lambda index: {"name": "v", "mountPath": f"/{index}"},
    "flat mounts": lambda index: {"name": "v", "mountPoint": f"/{index}"},
    "variables": lambda index: {"name": f"A{index}", "value": ""},
    "containers": lambda index: {"name": f"c{index}", "env": [{}], "volumeMounts": [{}]},
    "long keys": lambda index: {f"{'k' * 200}{index}": 1},
    "long texts": lambda index: f"{'x' * 500}{index}",
    "lists": lambda _: [[]],
    "nested": lambda _: {"a": {"a": {"a": {"a": {}}}}},
    "deep": lambda _: _nested(60),
    "quantities": lambda index: f"{index}000m",
}
# where: lists, and maps that are marked by a last step of "{}"
_SERVICE: Final = (
    *("volumeMounts", "envs", "unknown", "resources.limits.custom.{}", "annotations.{}", "eppConfig.config.free", "ingress.{}"),
    *(f"extraPodSpec.{name}" for name in ("containers", "volumes", "mainContainer.env", "mainContainer.volumeMounts")),
)
_COMPONENT: Final = (
    *("unknown", "eppConfig.config.free", "podTemplate.spec.containers", "podTemplate.spec.volumes"),
    *(f"podTemplate.spec.containers.0.{name}" for name in ("env", "volumeMounts", "resources.limits.{}")),
)
PLACES: Final[dict[str, tuple[str, ...]]] = {
    ALPHA: ("spec.pvcs", "spec.envs", "spec.services.{}", *(f"spec.services.w.{name}" for name in _SERVICE)),
    BETA: ("spec.components", "spec.env", *(f"spec.components.0.{name}" for name in _COMPONENT)),
}
MEANS: Final = ("live", "kept", "spec", "entries", "damaged")


class Recipe(NamedTuple):
    """How a body is made."""

    means: str = "live"  # the values are in the object, in one saved value, in the saved spec, or saved values of their own
    items: str = "empty maps"
    place: int = 0  # among those of the version
    stale: int = 0  # saved values that can't be restored
    packed: bool = False
    objects: int = 1  # of a conversion
    trimmed: bool = False  # whether a packed text is as short as it may be for its length alone

    def __str__(self) -> str:
        packed = f"packed{' short' if self.trimmed else ''} " if self.packed else ""
        return f"{packed}{self.items}, {self.means} at place {self.place}, {self.stale} stale, {self.objects} objects"


class Worst(NamedTuple):
    """The costliest body that was found."""

    route: Route
    version: str
    size: int
    recipe: Recipe
    ratio: float  # of what a byte costs to what one of an ordinary conversion does
    seconds: float
    text: bytes = b""

    @property
    def per_kib(self) -> float:
        """Milliseconds of CPU for each KiB."""
        return self.seconds * 1000 / (self.size / 1024)


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def _path(place: str) -> list[str | int]:
    return [int(step) if step.isdigit() else step for step in place.removesuffix(".{}").split(".")]


def _filled(recipe: Recipe, place: str, count: int) -> Any:
    values = map(ITEMS[recipe.items], range(count))
    return {f"n{index}": value for index, value in enumerate(values)} if place.endswith("{}") else list(values)


def _put(obj: Fields, path: list[str | int], value: Any) -> None:
    node: Any = obj
    for step, following in itertools.pairwise(path):
        empty: Any = [{"name": "main"}] if following == 0 else {}
        node = node.setdefault(step, empty) if isinstance(step, str) else node[step]
    node[path[-1]] = value


def _plain(version: str, objects: int = 0) -> Fields:
    service: Fields = {"componentType": "worker", "replicas": 1}
    spec: Fields = {"services": {"w": service}} if version == ALPHA else {"components": [{"name": "w", "type": "worker", "replicas": 1}]}
    metadata = {"name": f"g{objects}", "namespace": "n", "annotations": {}}
    return {"apiVersion": f"nvidia.com/{version}", "kind": GRAPH, "metadata": metadata, "spec": spec}


def _made(recipe: Recipe, version: str, count: int) -> Fields:
    """One graph with so many values."""
    obj, other = _plain(version), BETA if version == ALPHA else ALPHA
    if recipe.means == "live":
        place = PLACES[version][recipe.place % len(PLACES[version])]
        _put(obj, _path(place), _filled(recipe, place, count))
        count = 0
    place = PLACES[other][recipe.place % len(PLACES[other])]
    envelope: Fields = {"version": 1, "spec": {}, "kept": []}
    if recipe.means in ("spec", "damaged") and count:
        saved: Fields = {"spec": {}}
        _put(saved, _path(place), _filled(recipe, place, count))
        envelope["spec"] = saved["spec"]
    elif recipe.means == "kept" and count:
        envelope["kept"] = [[_path(place), _filled(recipe, place, count)]]
    elif recipe.means == "entries":
        envelope["kept"] = [[[*_path(place)[:3], f"n{index}"], ITEMS[recipe.items](index)] for index in range(count)]
    path: list[Any] = ["spec", "services", "w", "envs"] if version == BETA else ["spec", "components", 0, "eppConfig", "config"]
    envelope["kept"] += [[[*path[:-1], f"{path[-1]}{'' if index % 2 else 'x'}"], [index]] for index in range(recipe.stale)]
    if recipe.means != "live" or recipe.stale:
        text = orjson.dumps(envelope).decode()[: -1 if recipe.means == "damaged" else None]
        if recipe.packed:
            packed = compress(text)
            text = packed.rstrip().ljust(len(text) // 16 + 1) if recipe.trimmed else packed
        obj["metadata"]["annotations"][KEY] = text
    return obj


def _review(route: Route, version: str, obj: Fields, objects: int) -> bytes:
    if route.purpose is Purpose.CONVERT:
        desired = f"nvidia.com/{BETA if version == ALPHA else ALPHA}"
        return conversion([obj] * objects, desired)
    return review(obj)


def body(route: Route, version: str, recipe: Recipe, size: int) -> bytes:
    """The longest body of a recipe that isn't longer than `size`, or nearly so; none if there is none."""
    count, longest = 1, b""
    while len(made := _review(route, version, _made(recipe, version, count), recipe.objects)) <= size:
        longest, count = made, max(count + 1, min(4 * count, int(count * size / len(made) * 0.98)) if count > 8 else 4 * count)
        if len(longest) > 0.9 * size:
            break
    return longest


def ordinary(version: str, size: int) -> bytes:
    """A conversion of about the same size that an API server sends: graphs of usual services."""
    env = [{"name": f"VARIABLE_{index}", "value": f"some text of usual length {index}"} for index in range(6)]
    engine: Fields = {"image": "registry/runtime:1.2.0", "args": ["python3", "-m", "dynamo.vllm", "--model", "a/b"]}
    service: Fields = {"componentType": "worker", "replicas": 2, "envs": env, "extraPodSpec": {"mainContainer": engine}}
    main: Fields = {"name": "main", **engine, "env": env, "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    component: Fields = {"type": "worker", "replicas": 2, "podTemplate": {"spec": {"containers": [main]}}}
    obj = _plain(version)
    if version == ALPHA:
        obj["spec"] = {"services": {f"w{index}": {**service, "resources": {"limits": {"gpu": "1"}}} for index in range(4)}}
    else:
        obj["spec"] = {"components": [{"name": f"w{index}", **component} for index in range(4)]}
    return _review(CONVERT, version, obj, max(1, size // len(orjson.dumps(obj))))


def cost(route: Route, text: bytes) -> float:
    """Seconds of CPU that an answer takes, the better of two times."""
    taken = []
    for _ in range(2):
        began = time.process_time()
        answer(route, text, SETTINGS)
        taken.append(time.process_time() - began)
        if taken[0] > 0.5:
            break
    return min(taken)


def calibrated() -> float:
    """Seconds that a byte of an ordinary conversion takes now."""
    usual = ordinary(ALPHA, Limits().small_body)
    return min(cost(CONVERT, usual) for _ in range(3)) / len(usual)


def climb(route: Route, version: str, size: int, random: Random, trials: int, *, light: bool = False) -> Worst:
    """The worst of so many trials, of which the first are the families; with `light` of those that are answered in the event loop."""
    base, size = calibrated(), min(size, Limits().small_body) if light else size
    began, tried = time.process_time(), set[Recipe]()
    records = [Worst(route, version, size, Recipe(), 0.0, 0.0)]
    for recipe in itertools.islice(itertools.chain(_families(random, route), _changes(random, lambda: records[-1].recipe, route)), trials):
        made = (body(route, version, recipe, size // part) for part in ((1, 2, 4, 8) if light else (1,)) if recipe not in tried)
        text = next((each for each in made if each and (not light or is_light(each, size))), b"")
        tried.add(recipe)
        if not text:
            continue
        seconds = cost(route, text)
        ratio = seconds / len(text) / base
        if seconds > records[-1].seconds if light else ratio > records[-1].ratio:
            records.append(Worst(route, version, len(text), recipe, ratio, seconds, text))
        if time.process_time() - began > DEADLINE_SECONDS:
            break
    return records[-1]


def _families(random: Random, route: Route) -> Iterator[Recipe]:
    """What was found before, and the others in an order by chance."""
    converting = route.purpose is Purpose.CONVERT
    yield Recipe("kept", "empty maps", 0, 64, packed=True)
    yield Recipe("kept", "empty maps", 0, 64, packed=True, trimmed=True)
    yield Recipe("kept", "empty maps", 0, 64)
    yield Recipe("entries", "nulls", 3, 2, packed=True)
    yield Recipe("spec", "mounts", 3, 0, packed=True)
    yield from (Recipe("live", "empty maps", place, 64) for place in (2, 3, 4))
    yield Recipe("live", "containers", 2, 64)
    families = [Recipe(means, items) for means in MEANS for items in ITEMS]
    random.shuffle(families)
    for family in families:
        yield family._replace(
            place=random.randrange(14), stale=random.choice([0, 1, 64]), objects=random.choice([1, 4]) if converting else 1
        )


def _changes(random: Random, worst: Callable[[], Recipe], route: Route) -> Iterator[Recipe]:
    while True:
        recipe = worst()
        match random.randrange(7):
            case 0:
                yield recipe._replace(items=random.choice(list(ITEMS)))
            case 1:
                yield recipe._replace(place=random.randrange(14))
            case 2:
                yield recipe._replace(stale=random.choice([0, 1, 2, 8, 64, 300]))
            case 3:
                yield recipe._replace(packed=not recipe.packed, trimmed=random.random() < 0.3)
            case 4:
                yield recipe._replace(means=random.choice(MEANS))
            case 5:
                yield recipe._replace(objects=random.choice([1, 2, 5, 20]) if route.purpose is Purpose.CONVERT else 1)
            case _:
                yield recipe._replace(items=random.choice(list(ITEMS)), place=random.randrange(14))


def searches(sizes: tuple[int, ...]) -> list[tuple[Route, str, int]]:
    """What is searched: each size on each route, in both versions."""
    routes = [(CONVERT, version) for version in (ALPHA, BETA)]
    routes += [
        (ROUTES[path], version)
        for purpose in (Purpose.VALIDATE, Purpose.MUTATE)
        for version in (ALPHA, BETA)
        if (path := route_path(GRAPH, version, purpose)) in ROUTES
    ]
    return [(route, version, size) for size in sizes for route, version in routes]


def line(result: Worst) -> str:
    """What was found, on one line."""
    return f"{_named(result)}: {result.per_kib:.2f} ms a KiB, {result.seconds * 1000:.1f} ms, {result.ratio:.1f} times an ordinary byte"


def _named(result: Worst) -> str:
    return f"{result.route.purpose.value} {result.version}, {result.size / 1024:.0f} KiB: {result.recipe}"


def main() -> None:
    """Prints the worst body of each search; with `--write` the costliest of each size goes into docs/bench.md."""
    logging.disable(logging.CRITICAL)
    table = Table(COSTLIEST)
    for light in (False, True):
        for size in SIZES[-1:] if light else SIZES:
            worst: Worst | None = None
            for route, version, _ in searches((size,)):
                result = climb(route, version, size, Random(SEARCH_SEED), TRIALS, light=light)  # noqa: S311 - no secret
                print(line(result), flush=True)
                if worst is None or _share(result) > _share(worst):
                    worst = result
            assert worst is not None
            kib, milliseconds = worst.size / 1024, worst.seconds * 1000
            cost = f"{f'{milliseconds:.1f} ms in all, ' * light}{milliseconds / kib:.3f} ms a KiB"
            usual = f"{milliseconds / kib / worst.ratio:.3f} ms a KiB"
            goal = "" if light else str(MAX_TIMES[worst.route.purpose])
            table.row(f"{'in the event loop: ' * light}{_named(worst)}", cost, usual, worst.ratio, goal)
    if "--write" in sys.argv:
        table.write()


def _share(result: Worst) -> float:
    """The part of what its route may cost."""
    return result.ratio / MAX_TIMES[result.route.purpose]


if __name__ == "__main__":
    main()
