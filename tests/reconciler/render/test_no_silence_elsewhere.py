"""The law against silence for kinds beside graphs: each field changes what their Jobs are, or is listed with its reason or its reader."""

import copy
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks import reconciler as room
from dynamo_webhooks.api.kinds import GAMMA, list_kind_versions
from dynamo_webhooks.api.line import DEFAULT_LINE
from dynamo_webhooks.api.operator.configuration import OperatorConfiguration
from dynamo_webhooks.api.paths import Path as FieldPath
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.cli.commands.render.kinds import OperatorSettings, render_children
from dynamo_webhooks.reconciler.render.object_index import ObjectIndex
from tests.cli.render.test_kinds import CLAIM, IDENTITY
from tests.reconciler.render.single_fields import COMPONENT, GRAPH, leaves, put, text_of
from tests.reconciler.render.test_no_silence import SETTINGS, WITH_CHECKPOINTS

Fields = dict[str, Any]
ROOM: Final = Path(room.__file__).parent
TEMPLATE: Final = ("job", "podTemplateSpec", "spec")
NODES: Final = {"gpuSku": "h100_sxm", "numGpusPerNode": 8, "totalGpus": 8, "vramMb": 80_000}
CONTAINERS: Final = [{"name": "main", "image": "i:1", "command": ["x"]}, {"name": "side", "image": "i"}]
SPECS: Final[dict[tuple[str, str], Fields]] = {
    ("DynamoCheckpoint", "v1alpha1"): {"identity": IDENTITY, "job": {"podTemplateSpec": {"spec": {"containers": CONTAINERS}}}},
    ("DynamoGraphDeploymentRequest", "v1beta1"): {
        "model": "m",
        "backend": "vllm",
        "image": "i:1",
        "hardware": NODES,
        "modelCache": {"pvcName": "snaps"},
    },
}
VALUES: Final[Fields] = {
    "job.targetContainerName": "side",
    "job.podTemplateSpec.spec.securityContext": {"runAsUser": 7},
    "overrides.dgd": {"apiVersion": "nvidia.com/v1beta1", "kind": GRAPH},
}
_ONE_TRY: Final = "a snapshot is taken once: another try would begin with a pod that the snapshot is not of"
_OF_PODS: Final = "pods get only labels and annotations of it"
_WIRED: Final = "must be beside a pod that is wired by hand, in test_snapshots of the reconciler"
SILENT: Final[dict[str, str]] = {
    "gpuMemoryService": _WIRED,
    "job.backoffLimit": _ONE_TRY,
    "job.podTemplateSpec.spec.restartPolicy": _ONE_TRY,
    "job.ttlSecondsAfterFinished": "begins to count once the end has been noted, and is then 300 seconds",
    **{f"job.podTemplateSpec.metadata.{name}": _OF_PODS for name in ("finalizers", "name", "namespace")},
}
# fields of kinds that have no children, and the files of reconciler/ that read them
READERS: Final[dict[tuple[str, str], dict[str, str]]] = {
    ("DynamoGraphDeploymentScalingAdapter", "v1beta1"): dict.fromkeys(
        ("dgdRef.componentName", "dgdRef.name", "replicas"), "adapter/controller.py"
    ),
    ("DynamoModel", "v1alpha1"): {
        "baseModelName": "model/decide.py",
        **dict.fromkeys(("modelName", "modelType", "source.uri"), "model/lora.py"),
    },
}
FREE: Final = "DynamoWorkerMetadata"  # workers write and read its data, which has no schema


def _fields(kind: str, version: str) -> tuple[Fields, list[FieldPath]]:
    schema = load_schema(kind, version, DEFAULT_LINE)["properties"]["spec"]
    paths = [path for path, _ in leaves(schema)]
    return schema, [path for path in paths if path[:3] != TEMPLATE or len(path) == 4]  # what is deeper is copied as a whole


def _made(kind: str, version: str, spec: Fields) -> Any:
    obj = {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": {"name": "x", "namespace": "demo", "uid": "u"}, "spec": spec}
    claims = [{**CLAIM, "metadata": {"name": name, "namespace": "demo"}} for name in ("snaps", "x7")]
    operator = OperatorSettings(SETTINGS._replace(operator_version=WITH_CHECKPOINTS), OperatorConfiguration)
    done = render_children(obj, ObjectIndex(claims), operator)
    assert (done.problems, bool(done.children)) == ([], True), [str(problem) for problem in done.problems]
    return done.children


@pytest.mark.parametrize("pair", SPECS, ids=".".join)
def test_a_field_of_a_kind_with_jobs_acts_or_is_listed(pair: tuple[str, str]) -> None:
    schema, paths = _fields(*pair)
    silent = set()
    for path, text in ((path, text_of(path)) for path in paths if path[0] not in SILENT):
        before = copy.deepcopy(SPECS[pair])
        put(before, schema, path, last=False)
        after = copy.deepcopy(before)
        put(after, schema, path, VALUES.get(text))
        if _made(*pair, before) == _made(*pair, after):
            silent.add(text)
    listed = SILENT.keys() & {text_of(path) for path in paths}
    assert silent == listed, "act on the field in reconciler/, or list it here with the reason, and in the schema's description"
    assert len(paths) > 25


@pytest.mark.parametrize("pair", READERS, ids=".".join)
def test_a_field_of_a_kind_without_children_has_its_reader(pair: tuple[str, str]) -> None:
    _, paths = _fields(*pair)
    assert {text_of(path) for path in paths} == READERS[pair].keys(), "act on the field, and name here the file that reads it"
    for field, file in READERS[pair].items():
        assert f'"{field.rpartition(".")[2]}"' in (ROOM / file).read_text(), f"{file} reads no {field}"


def test_every_kind_is_held_to_the_law() -> None:
    judged = {kind for kind, version in list_kind_versions() if version != GAMMA}  # the operator alone acts on v1beta2
    assert {kind for kind, _ in (*SPECS, *READERS)} | {GRAPH, COMPONENT, FREE} == judged
