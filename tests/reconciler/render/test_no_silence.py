"""A law against silence: every field and every documented annotation changes what is rendered, or is told to have no effect.

Each field is set alone, in a graph of either version that has what the field needs beside itself, on Grove and on Deployments and
LeaderWorkerSets. Kubernetes' own types are entered where rendering looks into them; what lies deeper is copied as a whole.
"""

import copy
import json
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from dynamo_webhooks.api.line import NEWEST
from dynamo_webhooks.api.operator.controllers import Ingress
from dynamo_webhooks.api.operator.features import Pvc
from dynamo_webhooks.api.paths import Key, Path, format_path
from dynamo_webhooks.api.schema import load_schema, resolve
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.rule import Level
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.names import ENABLE_GROVE
from dynamo_webhooks.reconciler.render.settings import CheckpointSettings, Settings
from tests.admission.writes import defaulted
from tests.reconciler.render.single_fields import COMPONENT, GRAPH, NAME, find_by_end, graph, leaves, pair, pair_alone, text_of
from tests.reconciler.rendering import stored
from tests.rows import run_each

Fields = dict[str, Any]
VERSION: Final = f"{NEWEST}.0"
WITH_CHECKPOINTS: Final = "1.4.0"  # of the last line on which anything comes of a checkpoint
ORCHESTRATORS: Final = ("grove", "components")
SETTINGS: Final = Settings(
    operator_version=VERSION,
    lws=True,
    istio=True,
    ingress=Ingress(virtual_service_gateway="mesh/gateway"),
    checkpoints=CheckpointSettings(enabled=True, gate=True, pvc=Pvc(pvc_name="snaps", base_path="/snaps")),
    pull_secrets={"img.example": ("of-registry",)},
)
# what differs in other objects, or is not accepted alone, with the reason
ELSEWHERE: Final[dict[str, str]] = {
    "spec.backendFramework": "must be what the command runs; what it decides of a command that names nothing is in test_multinode",
    "failover.mode": "must be gpuMemoryService.mode",
    "components.experimental.failover.numShadows": "has one value",
    "checkpoint.startupPolicy": "acts on a graph that runs, in test_line15 of the reconciler",
}
# the same of a standalone component, which makes no checkpoint, but is restored from one
ALONE: Final[dict[str, str]] = {
    "checkpoint.enabled": "restores, in tests of the reconciler",
    "checkpoint.identity": "chooses the checkpoint, in tests of the reconciler",
    "checkpoint.targetContainerName": "is the container that is restored",
    "checkpoint.mode": "Manual is what a standalone component does",
    "checkpoint.deletionPolicy": "Retain is what it does, and Delete is told, in test_without_effect",
}
# what needs GPUs shared between pods, which only Grove runs
ONLY_ON_GROVE: Final[dict[str, tuple[str, ...]]] = {
    "grove": (),
    "components": ("services.worker.failover", "components.experimental.failover", "failover", "experimental.failover"),
}
RENAMED: Final = {"topologyProfile": "clusterTopologyName"}


def made(obj: Fields, where: str, operator: str) -> tuple[Any, set[str], list[str], list[str]]:
    """What runs, without names of generations; these names; problems and notes."""
    return _made(json.dumps(obj), where, operator)


@cache
def _made(text: str, where: str, operator: str) -> tuple[Any, set[str], list[str], list[str]]:
    settings = SETTINGS._replace(operator_version=operator, grove=where == "grove")
    done = render(stored(json.loads(text), operator, grove=where == "grove", lws=True), settings)
    labels = [child["metadata"].get("labels") or {} for child in done.children]
    generations = {str(marks["nvidia.com/dynamo-worker-hash"]) for marks in labels if "nvidia.com/dynamo-worker-hash" in marks}
    plain = json.dumps([child for child in done.children if child["kind"] != "DynamoComponentDeployment"])
    for name in generations:
        plain = plain.replace(name, "GENERATION")
    return plain, generations, [str(problem) for problem in done.problems], [format_path(note.path) for note in done.notes]


def checked(obj: Fields, where: str) -> tuple[list[str], bool]:
    """The fields that `check` speaks of, and whether it refuses the graph."""
    known = Facts(operatorVersion=VERSION, grove=where == "grove", lws=True, dra=True, checkpoint=True, allowGmsSnapshot=True)
    write = defaulted(obj, facts=known)
    judged_by = write.judge()
    assert [str(finding) for finding in judged_by if finding.level is Level.FAULT] == []
    wrong = write.conform()
    places = [*(error.path for error in wrong), *(finding.path for finding in judged_by)]
    return [format_path(path) for path in places], bool(wrong) or any(finding.level is Level.ERROR for finding in judged_by)


def is_told(path: Path, named: Sequence[str], *, whole: bool = False) -> bool:
    """Whether a field, or a block that it is in, is named. Names of components may stand for places of lists.

    `whole`: so is a component that is not run. What is wrong with a whole component names no field of it.
    """
    path = tuple(RENAMED.get(str(step), step) for step in path)
    least = 3 - whole if path[0] in ("components", "services") else 1
    ways = {format_path(("spec", *path[:end])) for end in range(least, len(path) + 1)}
    bracketed = {way.replace(f".services.{NAME}", f".services[{NAME}]") for way in ways}
    beta = {way.replace(f"services[{NAME}]", "components[0]") for way in bracketed}
    alone = {way.replace("spec.", "spec.experimental.", 1) for way in ways} if least == 1 else set()
    return bool((ways | bracketed | beta | alone) & {*named})


@run_each(("kind", "where"), [*((GRAPH, where) for where in ORCHESTRATORS), (COMPONENT, "components")])
@run_each("version", ["v1beta1", "v1alpha1"])
def test_a_field_acts_or_is_told(version: str, kind: str, where: str) -> None:
    schema = resolve(load_schema(kind, version, Facts(operatorVersion=VERSION).line))["properties"]["spec"]
    silent, rolls, seen = [], [], 0
    for path, _ in leaves(schema):
        text = text_of(path)
        before, after = (pair if kind == GRAPH else pair_alone)(version, path, schema)
        if before == after:
            continue  # a field of one value
        operator = WITH_CHECKPOINTS if "checkpoint" in text else VERSION
        (old, old_names, wrong, _), (new, names, problems, notes) = made(before, where, operator), made(after, where, operator)
        seen += 1
        if find_by_end(ELSEWHERE, path) or (kind == COMPONENT and any(f"{begin}." in f"{text}." for begin in ALONE)):
            continue
        assert (wrong, problems) == ([], []), text
        if old != new:
            continue
        if is_told(path, notes, whole=True):
            rolls += [text] if names != old_names else []
        elif not is_told(path, (reply := checked(after, where))[0]) and not (reply[1] and text.startswith(ONLY_ON_GROVE[where])):
            silent.append(text)
    assert (silent, rolls) == ([], []), (silent, rolls)
    assert seen > (150 if kind == GRAPH else 120)


ANNOTATIONS: Final = {
    ENABLE_GROVE: "false",
    "nvidia.com/grove-update-strategy": "OnDelete",
    "nvidia.com/dynamo-discovery-backend": "etcd",
    "nvidia.com/dynamo-kube-discovery-mode": "container",
    "nvidia.com/enable-metrics": "false",
    "nvidia.com/vllm-distributed-executor-backend": "ray",
    "nvidia.com/kai-scheduler-queue": "mine",
    "nvidia.com/kai-scheduler-node-pool": "mine",
    "nvidia.com/volcano-scheduler-queue": "mine",
    "nvidia.com/deployment-strategy": "Recreate",
    "nvidia.com/deployment-rolling-update-max-surge": "3",
    "nvidia.com/deployment-rolling-update-max-unavailable": "3",
    "nvidia.com/disable-image-pull-secret-discovery": "true",
}
# where annotations are read that are below the graph's own, and those that only the graph's own metadata has
PLACES: Final[dict[str, tuple[Path, ...]]] = {
    "v1beta1": (("spec", "annotations"), ("spec", "components", 0, "podTemplate", "metadata", "annotations")),
    "v1alpha1": (("spec", "services", NAME, "annotations"), ("spec", "services", NAME, "extraPodMetadata", "annotations")),
}
OF_GRAPHS: Final = (ENABLE_GROVE, *(name for name in ANNOTATIONS if "grove-update" in name or "-scheduler-" in name))


def _annotated(version: str, place: Path, name: str) -> tuple[Fields, Fields]:
    before = graph(version, {"multinode": {"nodeCount": 2}} if "vllm" in name else {})
    after = copy.deepcopy(before)
    at: Any = after
    for step in place:
        at = at[step] if isinstance(step, int) else at.setdefault(step, {})
    at[name] = ANNOTATIONS[name]
    return before, after


def _without(value: Any, name: str) -> Any:
    """Children without an annotation that was only copied."""
    if isinstance(value, dict):
        inner = {key: _without(item, name) for key, item in value.items() if key != name}
        return {key: item for key, item in inner.items() if key != "annotations" or item}
    return [_without(item, name) for item in value] if isinstance(value, list) else value


@run_each("where", ORCHESTRATORS)
@run_each("version", ["v1beta1", "v1alpha1"])
def test_an_annotation_acts_or_is_told(version: str, where: str) -> None:
    silent = []
    for name in ANNOTATIONS:
        if name == ENABLE_GROVE and where != "grove":
            continue  # keeps from Grove what would run there
        for place in (("metadata", "annotations"), *(() if name in OF_GRAPHS else PLACES[version])):
            before, after = _annotated(version, place, name)
            (old, _, wrong, _), (new, _, problems, notes) = made(before, where, VERSION), made(after, where, VERSION)
            assert (wrong, problems) == ([], []), name
            if _without(json.loads(old), name) != _without(json.loads(new), name):
                continue
            field = format_path((*place, Key(name))).replace(f"services.{NAME}", f"services[{NAME}]")
            beta = field.replace(f"services[{NAME}].extraPodMetadata", "components[0].podTemplate.metadata")
            if not {field, beta} & {*notes, *checked(after, where)[0]}:
                silent.append(field)
    assert silent == [], silent
