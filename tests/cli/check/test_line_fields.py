"""Every field of line 1.5, in a small manifest as upstream writes them: nothing is said of it there, and line 1.2 knows no such field."""

import copy
import json
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.api.walk.admit import shape
from dynamo_webhooks.cli.objects.manifest import Manifest, find_manifests
from dynamo_webhooks.cli.validation.finding import Outcome
from dynamo_webhooks.cli.validation.pipeline import Settings, check_object
from dynamo_webhooks.cli.yaml.load import Document, Source, read_text
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.policies.review import CREATE

ADDED: Final = Path(__file__).parents[2] / "api" / "line-1.5-fields.txt"
IMAGE: Final = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.5.0"
POD: Final[dict[str, Any]] = {"containers": [{"name": "main", "image": IMAGE}]}
CERTIFICATE: Final = {"signerName": "example.com/signer", "keyType": "ED25519"}
FACTS: Final[dict[str, Any]] = {
    **dict.fromkeys(("grove", "inferencePool", "gpuDiscovery", "dra", "lws", "checkpoint", "allowGmsSnapshot"), True),
    "excludedNamespaces": [],
    "switchedOff": [],
    "operatorScope": "cluster",
    "operatorPrincipal": "system:serviceaccount:dynamo-system:operator",
    "clusterTopologies": {"default": ["zone", "rack"]},
    "istio": False,
}
ALPHA_PART: Final = {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": IMAGE}}}
BETA_PART: Final = {"type": "worker", "podTemplate": {"spec": POD}}
SPECS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("DynamoGraphDeployment", "v1alpha1"): {"services": {"w": ALPHA_PART}},
    ("DynamoGraphDeployment", "v1beta1"): {"components": [{"name": "w", **BETA_PART}]},
    ("DynamoComponentDeployment", "v1alpha1"): {"backendFramework": "vllm", **ALPHA_PART},
    ("DynamoComponentDeployment", "v1beta1"): {"backendFramework": "vllm", "name": "w", **BETA_PART},
    ("DynamoGraphDeploymentRequest", "v1alpha1"): {
        "model": "m",
        "backend": "vllm",
        "profilingConfig": {"profilerImage": IMAGE, "config": {"sla": {"ttft": 1}}},
    },
    ("DynamoGraphDeploymentRequest", "v1beta1"): {"model": "m", "backend": "vllm", "image": IMAGE},
    ("DynamoCheckpoint", "v1alpha1"): {"identity": {"model": "m", "backendFramework": "vllm"}, "job": {"podTemplateSpec": {"spec": POD}}},
    ("DynamoModel", "v1alpha1"): {"modelName": "m", "baseModelName": "b"},
}
# of a field by its name, and what must stand beside it
VALUES: Final[dict[str, Any]] = {
    "minAvailable": 1,
    "runtimeVersionOverride": "1.5.0",
    "startupPolicy": "WaitForCheckpoint",
    "deletionPolicy": "Retain",
    "enabled": True,
    "forceScalingGroup": True,
    "clusterTopologyName": "default",
    "podGroupName": "group",
    "userAnnotations{}": "text",
    "runtimeNamespace": "ns",
    "scheduledReplicas": 1,
    "state": "Reported",
    "score": 0.5,
    "checkpointID": "id",
    "podSnapshotName": "snapshot",
    "loraFallbackCovered": True,
    "loraFallbackCoveredEndpoints": 1,
    "value": {"topologyConstraint": {"packDomain": "rack"}},
    "apiVersion": "grove.io/v1alpha1",
}
ROOT_VALUE: Final = {"spec": {"template": {"topologyConstraint": {"packDomain": "rack"}}}}
BESIDE: Final[dict[str, dict[str, Any]]] = {
    "checkpoint": {"enabled": True},
    "kvTransferPolicy": {"domain": "rack"},
    "podCertificate": CERTIFICATE,
    "multinode": {"nodeCount": 2},
    "template": {"spec": POD},
    "endpoints[]": {"address": "http://a", "ready": True},
}

# what line 1.5 has a field for and never admits: a standalone component is not on Grove
REFUSED: Final = {
    "spec.minAvailable": "min-available-requires-grove",
    "spec.experimental.grove.forceScalingGroup": "force-scaling-group-requires-grove",
}


def rows() -> list[tuple[str, str, str]]:
    """Kind, version and path of every value that line 1.5 added."""
    listed = [line.split(" ", 3) for line in ADDED.read_text().splitlines()[1:]]
    leaves = [(kind, version, path) for kind, version, path, facets in listed if json.loads(facets) != {"type": "object"}]
    # roles belong together: tests/admission/test_worked_lines.py
    return [row for row in leaves if not row[2].endswith((".providerOverride", ".target")) and "roles" not in row[2]]


def manifest(kind: str, version: str, path: str) -> dict[str, Any]:
    """A small object with a value at the path."""
    metadata = {"name": "g", "namespace": "ns"}
    obj = {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": metadata, "spec": copy.deepcopy(SPECS[kind, version])}
    steps = path.split(".")
    place: Any = obj
    for step in steps[:-1]:
        name = step.removesuffix("[]").removesuffix("{}")
        if step.endswith("[]"):
            made: Any = place.setdefault(name, [{"name": "x"}] if name == "volumes" else [{}])[0]
        elif step.endswith("{}"):
            made = place.setdefault(name, {"w": {}})["w"]
        else:
            made = place.setdefault(name, {})
        for key, value in BESIDE.get(step, {}).items():
            made.setdefault(key, copy.deepcopy(value))
        if name == "providerOverride":
            made |= {"apiVersion": VALUES["apiVersion"], "value": ROOT_VALUE if path.startswith("spec.provider") else VALUES["value"]}
        place = made
    last = steps[-1]
    if last.endswith("{}"):
        place[last.removesuffix("{}")] = {"a": VALUES[last]}
    else:
        place.setdefault(last, VALUES[last])
    return obj


def checked(obj: dict[str, Any], line: Line) -> Outcome:
    documents = [one for one in read_text(Source("a.json", json.dumps(obj))) if isinstance(one, Document)]
    found: list[Manifest] = list(find_manifests(documents))
    return check_object(found[0], CREATE, None, Settings(facts_from({**FACTS, "operatorLine": str(line)})))


@pytest.mark.parametrize(("kind", "version", "path"), [pytest.param(*row, id=" ".join(row)) for row in rows()])
def test_no_false_alarm_on_its_own_line_and_an_unknown_field_below(kind: str, version: str, path: str) -> None:
    obj = manifest(kind, version, path)
    outcome = checked(obj, Line.V1_5)
    warned = ["ckpt-kind-gone"] if kind == "DynamoCheckpoint" else []  # on that line a warning for the kind, whatever its fields are
    assert [each.rule for each in outcome.findings] == ([REFUSED[path]] if path in REFUSED else warned), outcome.findings
    assert outcome.not_evaluated == []
    pruned = {line: [format_path(one) for one in shape(copy.deepcopy(obj), kind, version, line).pruned] for line in Line}
    assert pruned[Line.V1_5] == []
    unknown = {one for one in pruned[Line.V1_2] if f"{one}.".startswith(_dropped(path)) or _dropped(path).startswith(f"{one}.")}
    assert len(unknown) == 1, pruned
    if not path.startswith("status."):  # of which a writer of the spec is told nothing
        named = {each.path for each in checked(obj, Line.V1_2).findings if each.rule == "unknown-field"}
        assert unknown <= named


def test_a_field_of_the_later_line_is_no_slip_of_the_pen_on_the_earlier_one() -> None:
    part = {**BETA_PART, "name": "w", "minAvailable": 1, "minAvailabel": 1}
    obj = manifest("DynamoGraphDeployment", "v1beta1", "spec.components[].minAvailable")
    obj["spec"]["components"] = [part]
    told = {one.path.rpartition(".")[2]: (one.message, one.fix) for one in checked(obj, Line.V1_2).findings if one.rule == "unknown-field"}
    assert told == {
        "minAvailable": (
            "is a field of line 1.3, and not of line 1.2",
            "remove the field, or check with --line 1.3 what a later operator gets",
        ),
        "minAvailabel": ("is no field of this kind", "Remove the field, or correct its name"),
    }


def _dropped(path: str) -> str:
    """The path as findings show it, with a dot behind it."""
    return path.removesuffix("{}").replace("{}", "[w]").replace("[]", "[0]") + "."


def test_every_field_has_its_row() -> None:
    assert len(rows()) >= 62
    assert {row[:2] for row in rows()} == SPECS.keys()
