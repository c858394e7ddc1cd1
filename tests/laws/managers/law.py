"""What must hold of every sequence of writes: whatever managers say stays, in whichever version and order they say it.

Kept: what an apply says is there afterwards, and what the other managers said is still there. Again: the same apply once more writes
nothing (but once the remainder, where that shows in neither version), also after labels, a status or other fields were written in either
version. Apart: such writes change nothing else. Dropped: what a manifest no longer says goes, and nothing else. Moved: a manifest in the
other version gives what it gives when it is the first one.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

import orjson

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.default import default
from tests.laws.managers.apply import ConflictError, Managers
from tests.laws.managers.fields import Fields
from tests.laws.managers.sequences import OWNER, SUCCESSOR, Intent, Sequence, Step
from tests.laws.managers.server import Written
from tests.laws.managers.subjects import REQUEST
from tests.laws.managers.typed import InvalidError, compare, element_of, fields_of, merge, remove
from tests.laws.managers.types import Type, type_of

Object = dict[str, Any]
VERSIONS: Final = (ALPHA, BETA)
ALPHA_ALONE: Final = {f"f:{name}" for name in ("pvcs", "labels", "annotations", "dynamoNamespace", "autoscaling", "ingress")}
ATOMIC_IN_ALPHA: Final = {"f:env", "f:volumeMounts", "f:compilationCache"}  # the cache is an entry of v1alpha1's mounts
ATOMIC_IN_BETA: Final = {"f:envFrom", "f:envFromSecret"}
# What v1alpha1 has two places for: a manifest that moves there writes one, and what v1beta1 wrote stays in the other (docs/gitops.md).
TWO_PLACES: Final = {"f:envFrom", "f:frontendSidecar", 'k:{"name":"sidecar-frontend"}'}
BETA_ALONE: Final = {"f:searchStrategy", "f:hardware"}
# Of requests: what lies in the other version's annotation.
ASIDE: Final = {
    ALPHA: {"f:enableGpuDiscovery", "f:useMocker", "f:deploymentOverrides", "f:outputPVC", "f:configMapRef", "f:engine"},
    BETA: BETA_ALONE,
}
# Of requests: all that the schema writes. Who says that, too, can't be told from a whole object when his part of it is converted; so the
# part gets the defaults of the other version, and with them what the object has there.
WHOLE: Final = {ALPHA: {"f:enableGpuDiscovery", "f:useMocker"}, BETA: {"f:searchStrategy"}}
# Defaults of v1beta1 in requests: they show in v1alpha1, and stay, owned by nobody, when what stood beside them goes.
DEFAULTS: Final = {"f:isl": 4000, "f:osl": 1000, "f:pvcMountPath": "/opt/model-cache", "f:trustRemoteCode": False}
ABOUT: Final = 400  # characters of a value that a complaint shows


class Holder(Protocol):
    """Who holds the object: the model, or a real API server."""

    kind: str
    line: Line  # of the definitions

    @property
    def managers(self) -> Managers:
        """Who owns what."""

    def read(self, version: str) -> Object:
        """The object in a version."""

    def apply(self, applied: Object, manager: str, *, force: bool = False) -> Written:
        """A server-side apply. Raises ConflictError and InvalidError."""

    def patch(self, version: str, patch: Object, manager: str, *, status: bool = False) -> Written:
        """A JSON merge patch. Raises InvalidError."""


def breaches(sequence: Sequence, holder: Callable[[str], Holder]) -> list[str]:
    """What the first step that breaks the law breaks; nothing when all is well. `holder` makes one that holds nothing yet, for a kind."""
    server = holder(sequence.kind)
    applied: dict[str, Step] = {}
    for number, step in enumerate(sequence.steps):
        before = {version: server.read(version) for version in VERSIONS} if number else {}
        try:
            written = write(server, step)
        except (ConflictError, InvalidError) as error:
            broken = [f"refused: {error!r}"]
        else:
            dropped = applied.get(step.manager) if step.intent is Intent.DROP else None
            if step.manager == SUCCESSOR:
                applied.pop(OWNER, None)  # has been overruled, and does not come back
            if step.applies:
                applied[step.manager] = step
            broken = list(_broken(server, step, written, before, applied, dropped))
            if step.intent is Intent.MOVE and not broken:
                broken += _moved(server, sequence.steps[: number + 1], holder(sequence.kind))
        if broken:
            return [f"step {number}, {step.intent.value} {step.version} by {step.manager}: {text[:ABOUT]}" for text in broken]
    return []


def write(server: Holder, step: Step) -> Written:
    """The step, done."""
    if step.applies:
        return server.apply(step.body, step.manager, force=step.force)
    return server.patch(step.version, step.body, step.manager, status=step.intent is Intent.STATUS)


def _broken(
    server: Holder, step: Step, written: Written, before: dict[str, Object], applied: dict[str, Step], dropped: Step | None
) -> Iterator[str]:
    for last in applied.values():
        yield from _lost(server, last)
    if step.applies:
        if dropped is not None:
            yield from _dropped(server, before[step.version], dropped, step)
    else:
        yield from _apart(server, step, written, before)
    yield from _again(server, applied)


def _lost(server: Holder, last: Step) -> Iterator[str]:
    """What a manager said and isn't there."""
    live = server.read(last.version)
    default(live, load_schema(server.kind, last.version, server.line))
    changes = compare(type_of(server.kind, last.version, server.line), live, _laid(server, live, last))
    for changed in (changes.added, changes.modified):
        if changed:
            yield f"lost of what {last.manager} said in {last.version}: {changed.v1()}"


def _laid(server: Holder, live: Object, last: Step) -> Object:
    """The object with what was said once more, and with the schema's defaults of it."""
    merged: Object = orjson.loads(orjson.dumps(merge(type_of(server.kind, last.version, server.line), live, last.body)))
    default(merged, load_schema(server.kind, last.version, server.line))
    return merged


def _again(server: Holder, applied: dict[str, Step]) -> Iterator[str]:
    """What writes something though it was said before; the remainder may be completed once, where that shows in neither version."""
    shown = _shown_in_both(server)
    repeated = list(_repeated(server, applied))
    if repeated and not any(each.endswith("generation") for each in repeated) and _shown_in_both(server) == shown:
        repeated = list(_repeated(server, applied))
    yield from repeated


def _repeated(server: Holder, applied: dict[str, Step]) -> Iterator[str]:
    for last in applied.values():
        try:
            written = server.apply(last.body, last.manager)
        except (ConflictError, InvalidError) as error:
            yield f"again, {last.manager} in {last.version}: {error!r}"
        else:
            if written.changed:
                yield f"again, {last.manager} in {last.version}: a new {'generation' if written.generation else 'resourceVersion'}"


def _shown_in_both(server: Holder) -> list[Object]:
    """The object in both versions, but for its metadata."""
    return [{name: value for name, value in server.read(version).items() if name != "metadata"} for version in VERSIONS]


def _apart(server: Holder, step: Step, written: Written, before: dict[str, Object]) -> Iterator[str]:
    """What a write of a label, a status or a field changed beside it."""
    if written.generation and step.intent is not Intent.EDIT:
        yield "a new generation"
    own = _paths(step.body) if step.intent is Intent.EDIT else {("f:metadata",)} if step.intent is Intent.LABEL else {("f:status",)}
    for version in VERSIONS:
        kind = type_of(server.kind, version, server.line)
        changes = compare(kind, _without_annotations(before[version]), _without_annotations(server.read(version)))
        for name, changed in zip(("added", "removed", "modified"), changes, strict=True):
            allowed = own if name != "removed" else set()
            beyond = [path for path in changed.paths() if path not in _SERVERS and not any(path[: len(top)] == top for top in allowed)]
            if beyond and not (version != step.version and step.intent is Intent.EDIT):
                yield f"{name} in {version}: {sorted(beyond)}"


_SERVERS: Final = {
    ("f:metadata",),
    ("f:metadata", "f:generation"),
    ("f:metadata", "f:resourceVersion"),
    ("f:metadata", "f:labels"),
    ("f:spec",),
    ("f:status",),
}


def _paths(patch: Any, above: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    if type(patch) is dict and patch:
        return {path for name, below in patch.items() for path in _paths(below, (*above, f"f:{name}"))} | ({above} if above else set())
    return {above}


def _without_annotations(obj: Object) -> Object:
    return {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name != "annotations"}}


def _dropped(server: Holder, before: Object, last: Step, step: Step) -> Iterator[str]:
    """What didn't go with the smaller manifest, and what went with it."""
    kind = type_of(server.kind, step.version, server.line)
    after = server.read(step.version)
    old, new = (fields_of(kind, manifest.body) for manifest in (last, step))
    gone = old.with_named(kind) - new.with_named(kind)
    left = (old - new - _owned_by_others(server, step.version)) & fields_of(kind, after)
    left -= _defaults(server, step.version, remove(kind, after, left))
    if still := [path for path in left.paths() if not _held_elsewhere(server, path, step) and not _shown(after, path)]:
        yield f"still there: {sorted(still)}"
    gone |= compare(kind, last.body, step.body).modified  # lists that are merged as a whole
    changes = compare(kind, _without_annotations(before), _without_annotations(after))
    for name, changed in (("added", changes.added), ("modified", changes.modified), ("removed", changes.removed)):
        if beyond := [path for path in changed.paths() if path not in _SERVERS and not _within(path, gone)]:
            yield f"{name}, too: {sorted(beyond)}"


def _owned_by_others(server: Holder, version: str) -> Fields:
    kind, theirs = type_of(server.kind, version, server.line), Fields()
    for who, owned in server.managers.items():
        if owned.version == version and who.name != OWNER:
            theirs |= owned.fields.with_named(kind)
    return theirs


def _held_elsewhere(server: Holder, path: tuple[str, ...], step: Step) -> bool:
    """Whether a manager of the other version is the reason why a field stays.

    He says something of the same component or container; or the field is one entry of what the other version has as a whole, which the API
    server then keeps or removes as a whole (docs/gitops.md): an atomic list, or the annotation.
    """
    version = step.version
    if all(owned.version == version for owned in server.managers.values()):
        return False
    if server.kind == REQUEST:
        names = {element for place in fields_of(type_of(server.kind, version, server.line), step.body).paths() for element in place}
        return bool((ASIDE[version] | DEFAULTS.keys() | {"f:mocker"}) & set(path) and (ASIDE[version] & names or names >= WHOLE[version]))
    item = path[-1].startswith("k:") or (path[-1] == "f:name" and path[-2].startswith("k:")) or path[1:-1] == ("f:services",)
    return item or bool((ALPHA_ALONE | ATOMIC_IN_BETA if version == ALPHA else ATOMIC_IN_ALPHA) & set(path))


def _shown(live: Object, path: tuple[str, ...]) -> bool:
    """Whether a field is there because the stored version has a default for it."""
    value: Any = live
    for element in path:
        value = value.get(element.removeprefix("f:")) if type(value) is dict else None
    return path[-1] in DEFAULTS and bool(value == DEFAULTS[path[-1]])


def _defaults(server: Holder, version: str, obj: Object) -> Fields:
    """The fields that the object gets by default."""
    return compare(type_of(server.kind, version, server.line), obj, _filled(server, version, obj)).added


def _filled(server: Holder, version: str, obj: Object) -> Object:
    """The object with its defaults: since line 1.7, those of requests are set by a webhook, as the schema did before."""
    filled: Object = orjson.loads(orjson.dumps(obj))
    default(filled, load_schema(server.kind, version, min(server.line, Line.V1_6)))
    return filled


def _within(path: tuple[str, ...], fields: Fields) -> bool:
    """Whether the path or one above it is in the set."""
    node: Fields | None = fields
    for element in path:
        if node is None:
            return False
        if element in node.members:
            return True
        node = node.children.get(element)
    return False


def _moved(server: Holder, steps: tuple[Step, ...], alone: Holder) -> Iterator[str]:
    """How the moved manifest differs from one that was there from the start; read in v1beta1, where every field has one spelling."""
    for step in (steps[-1], *(step for step in steps if step.manager not in (OWNER, steps[-1].manager))):
        try:
            write(alone, step._replace(force=True))
        except InvalidError as error:
            yield f"alone: {error!r}"
            return
    kind = type_of(server.kind, BETA, server.line)
    have, want = (sorted_lists(kind, _filled(server, BETA, holder.read(BETA))) for holder in (server, alone))
    changes = compare(kind, want, have)
    # what the owner still holds, and the successor can't say
    overruled = BETA_ALONE if steps[-1].manager == SUCCESSOR or _whole(server, steps[-1]) else set()
    if any(step.intent is Intent.DROP for step in steps):  # what may have stayed then
        overruled = BETA_ALONE | DEFAULTS.keys() | {"f:mocker"} if server.kind == REQUEST else overruled | TWO_PLACES
    for name, changed in zip(("added", "removed", "modified"), changes, strict=True):
        allowed = {path for path in changed.paths() if overruled & set(path) or _shown(have, path)}
        allowed |= {path[:length] for path in allowed for length in range(1, len(path))}
        if beyond := [path for path in changed.paths() if path[0] == "f:spec" and path not in allowed]:
            yield f"{name} beside the twin alone: {sorted(beyond)}"


def _whole(server: Holder, step: Step) -> bool:
    """Whether a v1alpha1 manifest of a request says all that the schema has by default."""
    names = {path[-1] for path in fields_of(type_of(server.kind, step.version, server.line), step.body).paths()}
    return server.kind == REQUEST and step.version == ALPHA and names >= WHOLE[ALPHA]


def sorted_lists(kind: Type, value: Any) -> Any:
    """The value with the items of lists that have keys in the order of their keys."""
    if kind.map and type(value) is dict:
        fields = kind.map.fields
        return {name: sorted_lists(fields.get(name, kind.map.extra) or kind, below) for name, below in value.items()}
    if kind.list and type(value) is list:
        items = [sorted_lists(kind.list.items, item) for item in value]
        form = kind.list
        return items if form.atomic else sorted(items, key=lambda item: element_of(form, item))
    return value
