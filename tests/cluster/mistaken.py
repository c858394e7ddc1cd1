"""Graphs, checkpoints and requests whose pods have a mistake here and there: good ones with values by dice at one to three places."""

import copy
from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.kinds import ALPHA, BETA, api_version
from dynamo_webhooks.api.line import NEWEST, Line
from dynamo_webhooks.api.paths import Path
from dynamo_webhooks.api.schema import Node, find_node, load_schema, resolve
from tests.cluster.generated import Dice
from tests.policies.pod_edits import GOOD

Object: TypeAlias = dict[str, Any]
_POD: Final[Object] = {
    **GOOD,
    "containers": [{**GOOD["containers"][0], "name": "main", "image": "example/vllm:1.7.0"}, *GOOD["containers"][1:]],
}
_JOB_POD: Final[Object] = {key: value for key, value in _POD.items() if key != "volumes"} | {
    "containers": [{"name": "main", "image": "example/vllm:1.7.0", "env": [{"name": "A", "value": "b"}]}],
    "initContainers": [{"name": "load", "image": "example/load:1"}],
}
# kind -> version, spec, and the place of the part with mistakes
_FORMS: Final[dict[str, tuple[str, Object, Path]]] = {
    "DynamoGraphDeployment": (
        BETA,
        {"components": [{"name": "worker", "type": "worker", "replicas": 1, "podTemplate": {"spec": _POD}}]},
        ("spec", "components", 0, "podTemplate"),
    ),
    "DynamoCheckpoint": (
        ALPHA,
        {"identity": {"model": "m", "backendFramework": "vllm"}, "job": {"podTemplateSpec": {"spec": _JOB_POD}}},
        ("spec", "job", "podTemplateSpec"),
    ),
    "DynamoGraphDeploymentRequest": (
        BETA,
        {
            "model": "m",
            "image": "example/vllm:1.7.0",
            "hardware": {"gpuSku": "h100_sxm", "vramMb": 81920, "numGpusPerNode": 8, "totalGpus": 8},
            "overrides": {"profilingJob": {"template": {"spec": _JOB_POD}}},
        },
        ("spec", "overrides", "profilingJob", "template"),
    ),
}
KINDS: Final = tuple(_FORMS)
LINES: Final = {"DynamoCheckpoint": Line.V1_4}  # the last one that has the kind; of others the newest
# text for fields that have no pattern, of which most pods are good and some are not
_WORDS: Final = (
    *("a", "x-1", "main", "models", "settings", "side", "http", "8000", "Always", "Never", "OnFailure"),
    *("Upper", "two words", "", "a/b", "x" * 64),
)
# options of Windows; what clouds had before CSI, whose drivers look at it; and what clusters of some releases and settings drop
NOT_TRIED: Final = {
    *("windowsOptions", "azureDisk", "fc", "flocker", "iscsi", "quobyte", "storageos"),
    *("restartPolicyRules", "stopSignal", "fileKeyRef", "podCertificate", "clusterTrustBundle"),
}


class Mistakes(Dice):
    """Makes objects of the kinds with pods."""

    def object_of(self, kind: str, number: int) -> Object:
        """An object with values by dice at one to three places of its pods' template."""
        version, spec, place = _FORMS[kind]
        made = {"apiVersion": api_version(version), "kind": kind, "metadata": {"name": f"t{number}", "namespace": "demo"}, "spec": spec}
        made = copy.deepcopy(made)
        whole = load_schema(kind, version, LINES.get(kind, NEWEST))
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            self._change(made, whole, place)
        return made

    def put(self, value: Any, node: Node, path: Path, leaf: Node) -> None:
        """Puts a value by dice at a path below a value; what is missing on the way is made."""
        for step in path[:-1]:
            node = resolve(node)
            if isinstance(step, int):
                node = node["items"]
                if not value:
                    value.append(self._least(resolve(node)))
            else:
                node = node["properties"][step]
                if value.get(step) is None:
                    value[step] = self._least(resolve(node))
            value = value[step]
        value[path[-1]] = self.value(leaf, 3)

    def _change(self, obj: Object, whole: Node, place: Path) -> None:
        """Walks down from a place by chance, and puts a value there; what is missing on the way is made."""
        value: Any = obj
        for step in place:
            value = value[step]
        node = resolve(find_node(whole, place) or {})
        while True:
            step, node = self._step(value, node)
            there = value[step] if isinstance(step, int) or step in value else None
            inner = resolve(node)
            deeper = (bool(inner.get("properties")) and self.random.random() < 0.75) or (bool(there) and self.random.random() < 0.85)
            if not deeper or not isinstance(there if there is not None else {}, (dict, list)):
                value[step] = self.value(node, 3)
                return
            if there is None:
                there = value[step] = self._least(inner)
            value, node = there, inner
            if not value and not inner.get("properties"):
                return

    def _step(self, value: Any, node: Node) -> tuple[Any, Node]:
        """A member or an item to go on at, and its schema; a list may get one more."""
        if isinstance(value, list):
            if not value or self.random.random() < 0.3:
                value.append(self._least(resolve(node["items"])))
                return len(value) - 1, node["items"]
            return self.random.randrange(len(value)), node["items"]
        members: dict[str, Node] = node.get("properties", {})
        if not members:
            return self.random.choice(("a", *value)), node.get("additionalProperties") or {}
        names = [name for name in members if name in value] if value and self.random.random() < 0.4 else [*members.keys() - NOT_TRIED]
        name = self.random.choice(sorted(names))
        return name, members[name]

    def _least(self, node: Node) -> Any:
        """A value with what the schema requires."""
        if node.get("type") == "array":
            return []
        if "properties" not in node and not node.get("x-kubernetes-preserve-unknown-fields") and node.get("type") not in (None, "object"):
            return self.value(node, 9)
        return {name: self.value(member, 9) for name, member in node.get("properties", {}).items() if name in node.get("required", ())}

    def _object(self, node: Node, depth: int) -> Object:
        return {name: value for name, value in super()._object(node, depth).items() if name not in NOT_TRIED}

    def _scalar(self, node: Node) -> Any:
        if node.get("type") == "string" and "pattern" not in node and node.get("format") != "date-time":
            return self.random.choice(_WORDS)
        return super()._scalar(node)
