"""The examples of the first releases' documentation, their indentation restored, and documents made of them."""

from collections.abc import Iterator
from typing import Any, Final

from dynamo_webhooks.api.kinds import ALPHA
from dynamo_webhooks.cli.legacy.recognise import TODAY, recognise
from dynamo_webhooks.cli.yaml.load import load_documents
from tests.laws.dice import Dice
from tests.laws.strategies import make_object, wild

_SERVICE: Final = """
    {name}:
      replicas: {replicas}
      envs:
      - name: SPECIFIC_ENV_VAR
        value: some_specific_value"""
_THREE: Final = "".join(_SERVICE.format(name=name, replicas=1) for name in ("Frontend", "Processor", "VllmWorker"))
_SERVICES: Final = _THREE + _SERVICE.format(name="PrefillWorker", replicas=1) + _SERVICE.format(name="Router", replicas=0)
_GRAPH: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: {kind}
metadata:
  name: disagg
spec:
  {reference}: frontend:jh2o6dqzpsgfued4
  envs:
  - name: GLOBAL_ENV_VAR
    value: some_global_value
  services:"""
_COMPONENT: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: {kind}
metadata:
  name: test-41fa991-vllmworker
spec:
  dynamoNamespace: dynamo
  {reference}: {build}
  dynamoTag: graphs.disagg:Frontend
  envs:
  - name: DYN_DEPLOYMENT_CONFIG
    value: '<long JSON config>'
  externalServices:
    PrefillWorker:
      deploymentSelectorKey: dynamo
      deploymentSelectorValue: PrefillWorker/dynamo
  resources:
    limits:
      cpu: "10"
      gpu: "1"
      memory: 20Gi
    requests:
      cpu: "{cpu}"
      gpu: "1"
      memory: 20Gi
  serviceName: Frontend
"""
_BUILD: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: {kind}
metadata:
  name: frontend--jh2o6dqzpsgfued4
spec:
  {reference}: frontend:jh2o6dqzpsgfued4
"""
_CLAIM: Final = """
      # Add PVC for model storage
      pvc:
        name: vllm-model-storage
        mountPath: /models
        size: 100Gi
"""
_HEAD: Final = _GRAPH.format(kind="DynamoGraphDeployment", reference="dynamoComponent")
EXAMPLES: Final = {
    "graph": _HEAD + _SERVICES,
    "deployment": _GRAPH.format(kind="DynamoDeployment", reference="dynamoNim") + _SERVICES,
    "component": _COMPONENT.format(
        kind="DynamoComponentDeployment", reference="dynamoComponent", build="frontend:jh2o6dqzpsgfued4", cpu="500m"
    ),
    "nim": _COMPONENT.format(kind="DynamoNimDeployment", reference="dynamoNim", build="frontend--jh2o6dqzpsgfued4", cpu="10"),
    "build": _BUILD.format(kind="DynamoComponent", reference="dynamoComponent"),
    "request": _BUILD.format(kind="DynamoNimRequest", reference="bentoTag"),
    "claim": _HEAD.replace("disagg", "llm-agg") + _THREE + _CLAIM,
}


def document(name: str) -> dict[str, Any]:
    """One of the examples, as data."""
    (found,) = load_documents(EXAMPLES[name])
    data: dict[str, Any] = found.data
    return data


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
