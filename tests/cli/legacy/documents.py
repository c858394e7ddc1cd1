"""The examples of the first releases' documentation, and documents made of them."""

import copy
from collections.abc import Iterator
from typing import Any, Final

from dynamo_webhooks.api.kinds import ALPHA, api_version
from dynamo_webhooks.cli.legacy.recognise import TODAY, recognise
from tests.laws.dice import Dice
from tests.laws.strategies import make_object, wild

_BUILD: Final = "frontend:jh2o6dqzpsgfued4"
_OBJECT: Final = "frontend--jh2o6dqzpsgfued4"  # that holds the build
_OWN: Final = [{"name": "SPECIFIC_ENV_VAR", "value": "some_specific_value"}]
_THREE: Final = {name: {"replicas": 1, "envs": _OWN} for name in ("Frontend", "Processor", "VllmWorker")}
_SERVICES: Final = {**_THREE, "PrefillWorker": {"replicas": 1, "envs": _OWN}, "Router": {"replicas": 0, "envs": _OWN}}
_CLAIM: Final = {"pvc": {"name": "vllm-model-storage", "mountPath": "/models", "size": "100Gi"}}


def _document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api_version(ALPHA), "kind": kind, "metadata": {"name": name}, "spec": spec}


def _graph(kind: str, name: str, reference: str, services: dict[str, Any]) -> dict[str, Any]:
    envs = [{"name": "GLOBAL_ENV_VAR", "value": "some_global_value"}]
    return _document(kind, name, {reference: _BUILD, "envs": envs, "services": services})


def _component(kind: str, reference: str, build: str, cpu: str) -> dict[str, Any]:
    spec = {
        "dynamoNamespace": "dynamo",
        reference: build,
        "dynamoTag": "graphs.disagg:Frontend",
        "envs": [{"name": "DYN_DEPLOYMENT_CONFIG", "value": "<long JSON config>"}],
        "externalServices": {"PrefillWorker": {"deploymentSelectorKey": "dynamo", "deploymentSelectorValue": "PrefillWorker/dynamo"}},
        "resources": {name: {"cpu": cpus, "gpu": "1", "memory": "20Gi"} for name, cpus in (("limits", "10"), ("requests", cpu))},
        "serviceName": "Frontend",
    }
    return _document(kind, "test-41fa991-vllmworker", spec)


EXAMPLES: Final = {
    "graph": _graph("DynamoGraphDeployment", "disagg", "dynamoComponent", _SERVICES),
    "deployment": _graph("DynamoDeployment", "disagg", "dynamoNim", _SERVICES),
    "component": _component("DynamoComponentDeployment", "dynamoComponent", _BUILD, "500m"),
    "nim": _component("DynamoNimDeployment", "dynamoNim", _OBJECT, "10"),
    "build": _document("DynamoComponent", _OBJECT, {"dynamoComponent": _BUILD}),
    "request": _document("DynamoNimRequest", _OBJECT, {"bentoTag": _BUILD}),
    "claim": _graph("DynamoGraphDeployment", "llm-agg", "dynamoComponent", {**_THREE, "VllmWorker": _THREE["VllmWorker"] | _CLAIM}),
}


def document(name: str) -> dict[str, Any]:
    """A copy of one of the examples."""
    return copy.deepcopy(EXAMPLES[name])


def made(count: int) -> Iterator[dict[str, Any]]:
    """Generated documents of all legacy kinds: today's fields and the old ones; in every third, values of any type instead of some."""
    for number in range(count):
        for kind, today in TODAY.items():
            draw = Dice("legacy", kind, number)
            obj = {**make_object(draw, today or "DynamoModel", ALPHA, odd=number % 2 == 1), "kind": kind}
            spec = obj.setdefault("spec", {})
            components = [spec] if today == "DynamoComponentDeployment" else list((spec.get("services") or {}).values())
            for component in components:
                component.update((name, old) for name, old in _old_fields(draw).items() if draw(2))
            spec["dynamoComponent"] = "frontend:1"
            legacy = wild(draw, obj) if number % 3 == 2 else obj
            if recognise(legacy):
                yield legacy


def _old_fields(draw: Dice) -> dict[str, Any]:
    """What only legacy components have; few names, so that components share claims and disagree about them."""
    claim = {"name": f"claim{draw(2)}", "mountPath": "/models", "size": f"{1 + draw(2)}Gi"}
    complete = {"storageClass": "fast", "volumeAccessMode": "ReadWriteOnce"}
    return {
        "dynamoTag": "graphs.agg:Frontend",
        "dynamoNamespace": ("dynamo", "mine")[draw(2)],
        "externalServices": {"Worker": {"deploymentSelectorKey": "dynamo"}},
        "pvc": claim | (complete if draw(2) else {}) | ({"create": draw(2) == 0} if draw(2) else {}),
    }
