"""Objects for the cluster tests, as small as the schema allows. What is done with them is each test's business."""

from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_ALIAS, GROUP

Node: TypeAlias = dict[str, Any]
POD: Final[Node] = {"spec": {"containers": [{"name": "main", "image": "example"}]}}
IDENTITY: Final[Node] = {"model": "m", "backendFramework": "vllm"}
ORIGIN: Final = "nvidia.com/dynamo-operator-origin-version"
DISCOVERY: Final = "nvidia.com/dynamo-kube-discovery-mode"


def make(alias: str, version: str, namespace: str, spec: Node | None, **metadata: Any) -> Node:
    """Writes an object of a kind by its alias, named `t` unless the metadata says otherwise; without a spec for None."""
    named = {} if "generateName" in metadata else {"name": "t"}
    obj: Node = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": BY_ALIAS[alias].name,
        "metadata": {**named, "namespace": namespace, **metadata},
    }
    return obj if spec is None else {**obj, "spec": spec}


def graph(namespace: str, services: Node | None = None, *, spec: Node | None = None, **metadata: Any) -> Node:
    """A DynamoGraphDeployment v1alpha1 with the services, by default one empty one called `w`."""
    return make("DGD", ALPHA, namespace, {"services": {"w": {}} if services is None else services, **(spec or {})}, **metadata)


def checkpoint(namespace: str, **spec: Any) -> Node:
    """A DynamoCheckpoint."""
    return make("CKPT", ALPHA, namespace, {"identity": IDENTITY, "job": {"podTemplateSpec": POD}, **spec})


def request(namespace: str, **spec: Any) -> Node:
    """A DynamoGraphDeploymentRequest v1beta1."""
    return make("DGDR", BETA, namespace, {"model": "x", **spec})


def path_of(obj: Node, *, named: bool = False) -> str:
    """The REST path of an object's collection, or of the object itself."""
    plural = next(kind.plural for kind in BY_ALIAS.values() if kind.name == obj["kind"])
    collection = f"/apis/{obj['apiVersion']}/namespaces/{obj['metadata']['namespace']}/{plural}"
    return f"{collection}/{obj['metadata']['name']}" if named else collection


def foreign(group: str, kind: str, plural: str, *, scope: str = "Namespaced", version: str = "v1") -> Node:
    """A definition for a kind of another project, which accepts everything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, a stand-in for tests"}},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
