"""Upstream's manifests among the recorded objects, and those of one name that were written by hand in both versions."""

import copy
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import product
from typing import Any, Final, NamedTuple

from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.default import default
from dynamo_webhooks.api.walk.prune import prune
from dynamo_webhooks.api.walk.validate import validate
from dynamo_webhooks.cli.commands.convert.served import convert_as_served
from dynamo_webhooks.cli.yaml.scalars import normalize_double
from dynamo_webhooks.conversion.objects import target
from tests.golden.corpus import cases
from tests.laws.dice import Dice
from tests.laws.laws import other, version_of
from tests.laws.managers.apply import Object
from tests.laws.managers.law import Holder, breaches, sorted_lists
from tests.laws.managers.sequences import OWNER, SUCCESSOR, Intent, Sequence, Step
from tests.laws.managers.server import Server
from tests.laws.managers.subjects import GRAPH, Subject
from tests.laws.managers.test_managers import converted
from tests.laws.managers.typed import InvalidError
from tests.laws.managers.types import type_of

# Files and kinds of cases that hold upstream's manifests, many changed here and there.
CONVERTED: Final = (("golden.ndjson.gz", "convert"),)
RECORDED: Final = (
    *CONVERTED,
    ("golden.ndjson.gz", "admit"),
    ("convert15.ndjson.gz", "convert"),
    ("line15.ndjson.gz", "api"),
    ("schema.ndjson.gz", "schema"),
    ("render.ndjson.gz", "render"),
)
MADE_UP: Final = {"a", "x", "llm", "my.dgd"}  # names that the recording gave to objects of no file; and long rows of x
# What the law says where an object holds what somebody else said, too.
OF_OTHERS: Final = (": added beside the twin alone", "must only be given when type is epp")

# To v1alpha1 these still differ: one field of v1beta1 is two of v1alpha1; empty lists and maps; and a sidecar that isn't there.
LEFT: Final = {
    "sglang-disagg-multinode": "type: decode, then componentType: worker",
    "agg-qwen-multimodal-lora": "resources with a limit, then an empty map of requests",
    "gp-ctrl": "topologySpreadConstraints: []",
    "trtllm-agg-router": "initContainers: []",
    "hello-world": "env: []",
    "sglang-agg-gms": "frontendSidecar: a container that isn't there",
}


class Pair(NamedTuple):
    """A manifest in each version; `alike`: whether they mean the same. Others were changed before they were recorded."""

    name: str
    alpha: Object
    beta: Object
    alike: bool


def manifests(kinds: Collection[str], files: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Object]]:
    """The specs of the objects in some files, each once, as manifests of their version, with the recorded name."""
    seen = set()
    for obj in _objects(files):
        if obj.get("kind") not in kinds or type(obj.get("spec")) is not dict:
            continue
        manifest: Object = {name: _read(obj.get(name)) for name in ("apiVersion", "kind", "spec")}
        text = json.dumps(manifest, sort_keys=True)
        if text not in seen:
            seen.add(text)
            yield str((obj.get("metadata") or {}).get("name")), {**manifest, "metadata": {"name": "t", "namespace": "default"}}


def _read(value: Any) -> Any:
    """A value of a manifest as kubectl and the commands read it."""
    if type(value) is dict:
        return {name: _read(below) for name, below in value.items()}
    if type(value) is list:
        return [_read(item) for item in value]
    return normalize_double(value) if type(value) is float else value


def _objects(files: Iterable[tuple[str, str]]) -> Iterator[Any]:
    for file, kind in files:
        for case in cases(file, kind):
            if not case["id"].endswith(("-back", "-again")) and case.get("context", "A") == "A":  # all contexts have the same
                yield case["request"].get("object") or {} if kind == "admit" else case["object"]


def accepted(manifest: Object) -> bool:
    """Whether the API server accepts the manifest without dropping anything, and would accept what it is in the other version."""
    kind, version = manifest["kind"], version_of(manifest)
    if prune(copy.deepcopy(manifest), load_schema(kind, version, Line.V1_2)):
        return False
    server = Server(kind, converted)
    try:
        server.apply(manifest, OWNER)
    except InvalidError:
        return False
    return not validate(server.read(other(version)), load_schema(kind, other(version), Line.V1_2))


def pairs() -> Iterator[Pair]:
    """Of each name under which graphs were recorded in both versions, the two manifests that differ least."""
    named: dict[str, dict[str, list[Object]]] = {}
    for name, manifest in manifests({GRAPH}, RECORDED):
        if name not in MADE_UP and not set(name) <= {"x"}:
            named.setdefault(name, {ALPHA: [], BETA: []})[version_of(manifest)].append(manifest)
    for name, versions in sorted(named.items()):
        if versions[ALPHA] and versions[BETA]:
            yield from _nearest(name, versions[ALPHA], versions[BETA])


def _nearest(name: str, alphas: list[Object], betas: list[Object]) -> Iterator[Pair]:
    left, right = ([(_said(manifest), manifest) for manifest in some] for some in (alphas, betas))
    ordered = sorted(((len(a ^ b), i, j) for (i, (a, _)), (j, (b, _)) in product(enumerate(left), enumerate(right)) if a and b))
    for distance, i, j in ordered:
        alpha, beta = left[i][1], right[j][1]
        if accepted(alpha) and accepted(beta):
            yield Pair(name, alpha, beta, alike=not distance)
            return


def _said(manifest: Object) -> frozenset[str]:
    """Every leaf of the spec in v1beta1 with the schema's defaults; nothing where an API server refuses it."""
    obj, kind = copy.deepcopy(manifest), manifest["kind"]
    default(obj, load_schema(kind, version_of(obj), Line.V1_2))
    if validate(obj, load_schema(kind, version_of(obj), Line.V1_2)):
        return frozenset()
    obj = obj if version_of(obj) == BETA else converted(obj, BETA)
    try:
        spec = sorted_lists(type_of(kind, BETA), {**obj, "metadata": {}})["spec"]
    except InvalidError:  # an item of a list without its key
        return frozenset()
    return frozenset(_leaves(spec, "spec"))


def _leaves(value: Any, path: str) -> Iterator[str]:
    below = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    if not below:
        yield f"{path}: {json.dumps(value)}"
    for name, item in below:
        yield from _leaves(item, f"{path}.{name}")


def stability(manifest: Object) -> Sequence:
    """Applied, then a label, an annotation and a status in the other version; the law applies it again after each."""
    version = version_of(manifest)
    steps = (Step(Intent.FIRST, version, OWNER, manifest), *_beside(manifest["kind"], other(version)))
    return Sequence(manifest["kind"], steps)


def _beside(kind: str, version: str) -> Iterator[Step]:
    for name in ("labels", "annotations"):
        yield Step(Intent.LABEL, version, "kubectl", {"metadata": {name: {"a": "b"}}})
    yield Step(Intent.STATUS, version, "controller", {"status": Subject(kind).status(version, Dice(0))})


def moved_wrongly(pair: Pair, holder: Callable[[str], Holder]) -> Iterator[str]:
    """What breaks when either manifest is applied and then the other, by the same manager or another.

    What another manager said, and the second manifest doesn't, stays his; so manifests that aren't alike leave more than the second alone.
    """
    for first, second in ((pair.alpha, pair.beta), (pair.beta, pair.alpha)):
        for mover in (OWNER, SUCCESSOR):
            version = version_of(second)
            label, _, status = _beside(GRAPH, version_of(first))
            steps = (
                Step(Intent.FIRST, version_of(first), OWNER, first),
                Step(Intent.MOVE, version, mover, second, force=True),
                label,
                status,
            )
            for text in breaches(Sequence(GRAPH, steps), holder) if version == BETA or pair.name not in LEFT else ():
                if pair.alike or mover == OWNER or not any(words in text for words in OF_OTHERS):
                    yield f"{pair.name} to {version}, {mover}: {text}"


def converted_wrongly(manifest: Object, holder: Callable[[str], Holder]) -> Iterator[str]:
    """What differs when a manifest is applied and then what `convert` writes of it: nothing but its manager's version may."""
    server, version = holder(manifest["kind"]), version_of(manifest)
    server.apply(manifest, OWNER)
    before = [_lasting(server.read(each)) for each in (version, other(version))]
    output = convert_as_served(manifest, target(f"{GROUP}/{other(version)}", line=Line.V1_2)).object
    written = output["metadata"].get("annotations") or {}
    held = before[1]["metadata"].get("annotations") or {}
    if {key: held.get(key) for key in written} != written:
        yield f"the annotations are {held}, and the file says {written}"
    if server.apply(output, OWNER, force=True).generation:
        yield "a new generation"
    if [_lasting(server.read(each)) for each in (version, other(version))] != before:
        yield "another object"
    for step in ((), _beside(manifest["kind"], version)):
        for edit in step:
            server.patch(edit.version, edit.body, edit.manager, status=edit.intent is Intent.STATUS)
        if server.apply(output, OWNER).changed:
            yield "another sync writes something"


def _lasting(obj: Object) -> Object:
    return {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}}
