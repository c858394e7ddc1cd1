"""The laws of conversion as plain functions: each says what an object breaks, and nothing when it holds. No generating here."""

import contextlib
import copy
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import orjson

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.difference import are_identical, find_differences
from dynamo_webhooks.conversion.engine import ANNOTATIONS, convert
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.kinds import kind_of
from dynamo_webhooks.conversion.pod_template.mounts import FLAG, is_compilation_cache
from dynamo_webhooks.conversion.remainder import KEPT
from tests.laws.hostile import LEGACY, SHORT

Object = dict[str, Any]
GROUP: Final = "nvidia.com/"
# of a request: what the schema of one version alone writes by default
DEFAULTS: Final[dict[str, Object]] = {LEFT: {"enableGpuDiscovery": True, "useMocker": False}, RIGHT: {"searchStrategy": "rapid"}}
RECORD: Final = f"{GROUP}dynamo-webhooks-legacy"  # of a request: how the older ones differed
RESERVED: Final = {
    *(f"{GROUP}{short}-{part}" for short in SHORT.values() for part in ("spec", "status")),
    *(f"{GROUP}dgdr-{name}" for name in LEGACY),
    RECORD,
}


_LINE: Final[ContextVar[Line]] = ContextVar("line", default=Line.V1_2)


@contextlib.contextmanager
def on(line: Line) -> Iterator[None]:
    """Conversions inside are those of a line; of line 1.2 outside."""
    token = _LINE.set(line)
    try:
        yield
    finally:
        _LINE.reset(token)


def version_of(obj: Object) -> str:
    """The version that an object is in, without its group."""
    return str(obj["apiVersion"]).rpartition("/")[2]


def other(version: str) -> str:
    """The version that a conversion goes to."""
    return LEFT if version == RIGHT else RIGHT


def away(obj: Object, desired: str = "") -> Object:
    """The object in the other version (or the desired one, with or without its group)."""
    version = desired.rpartition("/")[2] or other(version_of(obj))
    return plain(convert(kind_of(obj["kind"], _LINE.get()), obj, version).object)


def plain(obj: Object) -> Object:
    """The object; a part of a stored request without what the schema of its version alone has by default, which the API server writes.

    And a stored request without null sections: where server-side apply leaves one, it stands for the schema's.
    """
    spec = obj.get("spec")
    if obj["kind"] != "DynamoGraphDeploymentRequest" or type(spec) is not dict:
        return obj
    if obj["metadata"].get("uid") or not obj["metadata"].get("name"):
        spec = {name: value for name, value in spec.items() if value is not None or name not in ("modelCache", "workload")}
        obj = {**obj, "spec": spec}
    if not is_part(obj):
        return obj
    defaults = DEFAULTS[version_of(obj)]
    return {**obj, "spec": {name: value for name, value in spec.items() if not (name in defaults and are_identical(value, defaults[name]))}}


def is_part(obj: Object) -> bool:
    """Whether the object is a request that an API server has stored, without all the defaults that it writes into one."""
    metadata, spec = obj.get("metadata") or {}, obj.get("spec")
    if obj["kind"] != "DynamoGraphDeploymentRequest":
        return False
    whole = type(spec) is dict and all(spec.get(name) is not None for name in ("model", "autoApply", *DEFAULTS[version_of(obj)]))
    return not whole and bool(metadata.get("uid") or not metadata.get("name"))


def home(converted: Object, origin: Object) -> Object:
    """A converted object, brought back to the version of the one it came from."""
    return away(converted, version_of(origin))


def reserved(obj: Object) -> dict[str, Any]:
    """The annotations under keys that conversion uses itself."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return {key: text for key, text in annotations.items() if key in RESERVED or key.startswith(GROUP + "dynamo-webhooks-aside.")}


def live(obj: Object) -> Object:
    """What an object says without its remainder: everything but the reserved annotations, and the empty spec of a part."""
    metadata = dict(obj.get("metadata") or {})
    annotations = {key: text for key, text in (metadata.pop("annotations", None) or {}).items() if key not in reserved(obj)}
    if annotations:
        metadata["annotations"] = annotations
    members = {name: value for name, value in obj.items() if not (name == "spec" and value == {} and is_part(obj))}
    return {**members, "metadata": metadata}


def said(obj: Object) -> Object:
    """Spec and status, as far as they are there."""
    return {part: obj[part] for part in ("spec", "status") if part in obj}


def different(have: Any, want: Any) -> str:
    """How two JSON values differ, in a few words; nothing when they are the same JSON."""
    if are_identical(have, want):
        return ""
    path, actual, wanted = _first(have, want, ())
    return f"at {'.'.join(map(str, path))}: {_short(actual)}, should be {_short(wanted)}"


def _first(have: Any, want: Any, path: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Any, Any]:
    if type(have) is dict and type(want) is dict and have.keys() == want.keys():
        key = next(key for key in want if not are_identical(have[key], want[key]))
        return _first(have[key], want[key], (*path, key))
    if type(have) is list and type(want) is list and len(have) == len(want):
        index = next(index for index, value in enumerate(want) if not are_identical(have[index], value))
        return _first(have[index], want[index], (*path, index))
    return path, have, want


def _short(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()[:300]


class Trip(NamedTuple):
    """An object, converted and back home; and the same with the remainder dropped half-way."""

    obj: Object
    converted: Object
    back: Object
    bare: Object
    bare_back: Object


Law = Callable[[Trip], Iterator[str]]


def trip(obj: Object) -> Trip:
    """Takes an object there and back."""
    converted = away(obj)
    bare = live(converted)
    return Trip(obj, converted, home(converted, obj), bare, home(bare, obj))


def there_and_back(made: Trip) -> Iterator[str]:
    """Brings everything home, metadata included. A usable remainder is used up on the way, so only the rest is compared where one was."""
    obj, back = made.obj, made.back
    consumed = bool(reserved(obj)) and not are_identical(reserved(back), reserved(obj))
    if difference := different(live(back), live(obj)) if consumed else different(back, obj):
        yield difference


def silent_remainder(made: Trip) -> Iterator[str]:
    """Dropping the remainder changes nothing that live members say: what came home without it says the same when it leaves again."""
    for what, back in (("with", made.back), ("without", made.bare_back)):
        if difference := different(said(live(away(back))), said(made.bare)):
            yield f"{what} the remainder: {difference}"


def same_bytes(made: Trip) -> Iterator[str]:
    """Converting again gives the same bytes, also where members stand in another order."""
    if as_bytes(made.converted) != as_bytes(away(_reordered(made.obj))):
        yield "the order of members shows"
    if as_bytes(made.converted) != as_bytes(away(made.obj)):
        yield "twice gives other bytes"


def as_bytes(obj: Object) -> bytes:
    """The object as JSON, whatever the order of its members."""
    return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)


def _reordered(value: Any) -> Any:
    if type(value) is dict:
        return {key: _reordered(value[key]) for key in sorted(value, reverse=True)}
    return [_reordered(item) for item in value] if type(value) is list else value


def nothing_left_over(made: Trip) -> Iterator[str]:
    """No annotation is left on an object that came home, and none of our own members is written where nothing would be lost."""
    if reserved(made.obj):
        return
    if left := reserved(made.back):
        yield f"left over: {sorted(left)}"
    if are_identical(said(made.bare_back), said(made.obj)):
        for key, text in reserved(made.converted).items():
            kept = [entry for entry in orjson.loads(text).get(KEPT) or [] if entry[0] != ANNOTATIONS] if key.endswith("-spec") else []
            if kept:
                yield f"{key} keeps what would come home anyway: {_short(kept)}"


def shape_kept(made: Trip) -> Iterator[str]:
    """Kind, name and metadata stay, the version is the desired one, metadata is there; no part vanishes, and none appears of nothing."""
    obj, converted = made.obj, made.converted
    if converted.get("apiVersion") != GROUP + other(version_of(obj)) or converted.get("kind") != obj["kind"]:
        yield f"{converted.get('apiVersion')} {converted.get('kind')}"
    if type(converted.get("metadata")) is not dict:
        yield "no metadata"
    elif difference := different(made.bare["metadata"], live(obj)["metadata"]):
        yield f"metadata: {difference}"
    parts = _told(obj) | ({"spec", "status"} - obj.keys() if reserved(obj) else set())  # a remainder alone may make a part
    if converted.keys() - {"metadata"} - parts != obj.keys() - {"metadata"}:
        yield f"members {sorted(converted)} of {sorted(obj)}"


def _told(obj: Object) -> set[str]:
    # a request that no API server has stored says what it means by saying nothing, as the Go operator has it, too, unless it is a fragment
    if obj["kind"] != "DynamoGraphDeploymentRequest" or type(obj.get("spec") or {}) is not dict or is_part(obj):
        return set()
    return set() if obj["metadata"].get("uid") else {"spec", "status"} - obj.keys()


def elements_alone(made: Trip) -> Iterator[str]:
    """A graph's parts convert as they do alone: each service or component gives what it gives in a graph of its own."""
    obj = made.obj
    if obj["kind"] != "DynamoGraphDeployment" or reserved(obj) or type(obj.get("spec")) is not dict:
        return
    named = by_name(obj)
    if named is None:
        return
    whole = by_name(made.converted) or {}
    for name, part in named.items():
        member = {"services": {name: part}} if version_of(obj) == LEFT else {"components": [part]}
        alone = by_name(away({**obj, "spec": member})) or {}
        if difference := different(whole.get(name), alone.get(name)):
            yield f"{name}: {difference}"


def by_name(graph: Object) -> Object | None:
    """The services or components of a graph by name; None where they have none to go by."""
    spec = graph.get("spec") or {}
    if version_of(graph) == LEFT:
        services = spec.get("services") or {}
        return services if type(services) is dict else None
    parts = spec.get("components") or []
    if type(parts) is not list or any(type(part) is not dict or type(part.get("name")) is not str for part in parts):
        return None
    return {part["name"]: part for part in parts}


ALONE: Final[tuple[Law, ...]] = (there_and_back, silent_remainder, same_bytes, nothing_left_over, shape_kept, elements_alone)


def edits_survive(origin: Object, edited: Object) -> Iterator[str]:
    """What the far side says after an edit survives the way back and forth, with the stale remainder left in place.

    `edited` is an object of the far version that carries the remainder of `origin`. A member that is null says nothing, like one that isn't
    there.
    """
    again = away(home(edited, origin), version_of(edited))
    if (difference := different(live(again), live(edited))) and different(_spoken(live(again)), _spoken(live(edited))):
        yield difference


def _spoken(value: Any) -> Any:
    if type(value) is dict:
        return {name: _spoken(below) for name, below in value.items() if below is not None}
    return [_spoken(item) for item in value] if type(value) is list else value


def remainder_agrees(origin: Object, edited: Object) -> Iterator[str]:
    """Where a stale remainder makes a difference to what an edited object says at home, it makes it say what the author wrote, or part.

    Containers apart: a remembered `{}` makes a main container, and with it the cache's mount, explicit; and a flat sidecar is one more
    container where its remainder is dropped. v1beta1 has one cache: without a remainder, further ones are plain mounts of main.
    """
    at_home, without = live(home(edited, origin)), live(home(live(edited), origin))
    for path, *value in find_differences(_said_by_name(away(without)), _said_by_name(away(at_home))):
        wrote = [_with_one_cache(item) if path[-1] == "volumeMounts" else item for item in _at(_said_by_name(edited), path)]
        if path[0] not in at_home:  # its remainder alone says it all
            continue
        wrong = len(wrote) != len(value) or not all(_within(item, other, str(path[-1])) for item, other in zip(value, wrote, strict=True))
        if wrong and not _of_containers(path, value) and not (_says_nothing(wrote) and _says_nothing(value)):
            yield f"at {path}: {_short(value)}, the author wrote {_short(wrote)}"


def _with_one_cache(mounts: Any) -> Any:
    """A flat list of mounts without the flags of all caches but the first."""
    caches = (
        [entry for entry in mounts if is_compilation_cache(entry)]
        if type(mounts) is list and all(type(mount) is dict for mount in mounts)
        else []
    )
    return [{**entry, FLAG: False} if any(entry is cache for cache in caches[1:]) else entry for entry in mounts] if caches else mounts


def _of_containers(path: list[str | int], value: list[Any]) -> bool:
    """Whether a difference is one of containers, or of a sidecar that is spelled as one or as a flat member."""
    whole = path[-1] == "extraPodSpec" and all(type(extra) is dict and extra.keys() <= {"containers"} for extra in value)
    return whole or "podTemplate" in path or {"extraPodSpec", "containers"} <= set(path) or "frontendSidecar" in path


def _said_by_name(obj: Object) -> Object:
    """What an object says, without the order of a graph's components, which the remainder alone remembers."""
    named = by_name(obj) if obj["kind"] == "DynamoGraphDeployment" and type(obj.get("spec")) is dict else None
    return said(obj) if named is None else {**said(obj), "spec": {**obj["spec"], "components": named}}


def _says_nothing(value: Any) -> bool:
    """Whether a value holds no more than empty members, or a main container without content, which may as well be absent."""
    if type(value) is dict:
        return all(_says_nothing(below) or (name, below) == ("name", "main") for name, below in value.items())
    return all(map(_says_nothing, value)) if type(value) is list else value in (None, "")


def _within(part: Any, whole: Any, block: str = "") -> bool:
    """Whether a value says nothing that the other doesn't say: objects member by member, anything else as it stands.

    The absent or null switch of a checkpoint is off, which the version that has one in the block must write.
    """
    if type(part) is dict and type(whole) is dict:
        return all(
            name in whole and _within(below, whole[name], name)
            if whole.get(name) is not None or (block, name) != ("checkpoint", "enabled")
            else below is None or below is False
            for name, below in part.items()
        )
    return are_identical(part, whole)


def _at(value: Any, path: list[str | int]) -> list[Any]:
    """What is at a path, in a list of one; an empty list where there is nothing."""
    for step in path:
        if type(value) is dict and step in value:
            value = value[step]
            continue
        if type(value) is not list or type(step) is not int or step >= len(value):
            return []
        value = value[step]
    return [value]


def violations(obj: Object, edited: Object | None = None) -> list[str]:
    """Every law that an object breaks, by name; with `edited`, an edit of its conversion, also the laws of edits."""
    obj, edited = plain(obj), None if edited is None else plain(edited)
    before = copy.deepcopy((obj, edited))
    made = trip(obj)
    broken = [f"{law.__name__}: {text}" for law in ALONE for text in law(made)]
    if edited is not None and not is_part(obj) and not is_part(edited):  # a part lives as long as one apply, and nobody edits it
        broken += [f"{law.__name__}: {text}" for law in (edits_survive, remainder_agrees) for text in law(obj, edited)]
    if changed := different([obj, edited], list(before)):
        broken.append(f"inputs_unchanged: {changed}")
    return broken
