"""Builds CustomResourceDefinitions from the kinds and the generated schemas."""

from base64 import b64encode
from collections.abc import Collection, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, Final, TypeAlias

from .kinds import ALPHA, BETA, BY_NAME, GAMMA, GROUP, Kind, Version, api_version
from .line import Line
from .paths import Path
from .schema import BRIEF, MARKS, PRESERVE, Node, child_node, load_schema, resolve

Column: TypeAlias = dict[str, str]


def _column(name: str, path: str, kind: str = "string") -> Column:
    return {"name": name, "type": kind, "jsonPath": path}


def _condition(name: str, condition: str, member: str = "status") -> Column:
    return _column(name, f'.status.conditions[?(@.type=="{condition}")].{member}')


def _age(name: str = "Age") -> Column:
    return _column(name, ".metadata.creationTimestamp", "date")


_BACKEND: Final = _column("Backend", ".spec.backendFramework")
# the message is the last column, so that scripts which cut the output by column find the others where they were
_GRAPH: Final = [_condition("Ready", "Ready"), _BACKEND, _age(), _condition("Message", "Ready", "message")]
_COMPONENT: Final = [_condition("Available", "Available"), _BACKEND, _age(), _condition("Message", "Available", "message")]
_ADAPTER: Final = _column("DGD", ".spec.dgdRef.name")
_REPLICAS: Final = _column("REPLICAS", ".status.replicas", "integer")
COLUMNS: Final[dict[tuple[str, str], list[Column]]] = {
    ("DynamoGraphDeployment", ALPHA): _GRAPH,
    ("DynamoGraphDeployment", BETA): _GRAPH,
    ("DynamoComponentDeployment", ALPHA): [
        _column("DynamoComponent", ".spec.dynamoComponent"),  # always empty: kept because scripts cut the output by column
        *_COMPONENT,
    ],
    ("DynamoComponentDeployment", BETA): _COMPONENT,
    ("DynamoGraphDeploymentRequest", ALPHA): [
        _column("Model", ".spec.model"),
        _column("Backend", ".status.backend"),
        _column("State", ".status.state"),
        _column("DGD-State", ".status.deployment.state"),
        _age(),
    ],
    ("DynamoGraphDeploymentRequest", BETA): [
        _column("Model", ".spec.model"),
        _column("Backend", ".spec.backend"),
        _column("Phase", ".status.phase"),
        _column("Profiling", ".status.profilingPhase"),
        _condition("Reason", "Succeeded", "reason"),
        _condition("Message", "Succeeded", "message"),
        _column("DGD", ".status.dgdName"),
        _age(),
    ],
    ("DynamoGraphDeploymentRequest", GAMMA): [
        _column("Model", ".spec.modelRef.name"),
        _column("Active Run", ".status.activeRunRef.name"),
        _condition("Accepted", "Accepted"),
        _age(),
    ],
    ("DynamoGraphDeploymentScalingAdapter", ALPHA): [_ADAPTER, _column("SERVICE", ".spec.dgdRef.serviceName"), _REPLICAS, _age("AGE")],
    ("DynamoGraphDeploymentScalingAdapter", BETA): [_ADAPTER, _column("COMPONENT", ".spec.dgdRef.componentName"), _REPLICAS, _age("AGE")],
    ("DynamoCheckpoint", ALPHA): [
        _column("Model", ".spec.identity.model"),
        _column("Backend", ".spec.identity.backendFramework"),
        _column("Phase", ".status.phase"),
        _column("Hash", ".status.identityHash"),
        _age(),
    ],
    ("DynamoModel", ALPHA): [
        _column("BaseModel", ".spec.baseModelName"),
        _column("Type", ".spec.modelType"),
        _column("Ready", ".status.readyEndpoints", "integer"),
        _column("Total", ".status.totalEndpoints", "integer"),
        _age(),
    ],
    ("DynamoWorkerMetadata", ALPHA): [_age()],
    ("DynamoGraphDeploymentRun", GAMMA): [_column("Phase", ".status.phase"), _age()],
    ("DynamoGraphDeploymentCandidate", GAMMA): [
        _column("Rank", ".status.rank", "integer"),
        _condition("Evaluated", "Evaluated"),
        _BACKEND,
        _age(),
    ],
}
# by kind and name: the column that replaces another, and since which line
_SINCE: Final = {("DynamoCheckpoint", "Hash"): (Line.V1_4, _column("CheckpointID", ".status.checkpointID"))}
_SUBRESOURCES: Final[dict[str, Node]] = {
    "status": {},
    "scale": {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    },
}


def build(kind: str, *, conversion: Mapping[str, Any] | None = None, versions: Collection[str] | None = None, line: Line) -> Node:
    """Returns the CustomResourceDefinition of a kind as a new dict, with every embedded Kubernetes type written out.

    `conversion` becomes `spec.conversion` as it is; without it the API server only changes the apiVersion. `versions` keeps some of
    the versions alone; when the stored one is not among them, the first that is left is stored instead. `line` is the operator's.
    Raises KeyError for an unknown kind, ValueError when no version is left.
    """
    known = BY_NAME[kind]
    kept = [version for version in known.of_line(line) if versions is None or version.name in versions]
    if not kept:
        raise ValueError(f"versions must name a version of {kind}, saw {sorted(versions or ())}")
    stored = next((version.name for version in kept if version.name == known.stored(line)), kept[0].name)
    spec: Node = {
        "group": GROUP,
        "names": {"kind": kind, "listKind": f"{kind}List", "plural": known.plural, "singular": kind.lower(), "shortNames": [known.short]},
        "scope": "Namespaced",
    }
    if conversion is not None:
        spec["conversion"] = dict(conversion)  # before the versions, behind which no reader would find it
    spec["versions"] = [_version(known, version, line, stored=version.name == stored) for version in kept]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": known.crd_name},
        "spec": spec,
    }


def _columns(kind: str, version: str, line: Line) -> list[Column]:
    changed = {name: column for name, (since, column) in _SINCE.items() if line >= since}
    return [changed.get((kind, column["name"]), column) for column in COLUMNS[kind, version]]


_CHILDREN: Final = ("properties", "items", "additionalProperties")
# the longest parts of a pod template, of which a brief one has the keys of lists alone; webhooks and `check` know them whole
_LONG: Final = frozenset({"affinity", "ephemeralContainers", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe", "volumes"})


@cache
def served_schema(kind: str, version: str, line: Line) -> Node:
    """The schema that the definition of a line has, which leaves parts of templates open; the same object every time, to be read only.

    Raises KeyError when there is none.
    """
    return _outline_brief(load_schema(kind, version, line))


def _outline_brief(node: Node) -> Node:
    """A schema whose brief parts are written out as definitions have them; the rest of it is shared."""
    if BRIEF in node:
        return inline(node)
    changed: Node = {key: _outline_brief(below) for key in ("items", "additionalProperties") if isinstance(below := node.get(key), dict)}
    if "properties" in node:
        changed["properties"] = {name: _outline_brief(member) for name, member in node["properties"].items()}
    return {**node, **changed}


def is_open(path: Path, schema: Node) -> bool:
    """Whether a definition leaves a place of a kind's whole schema to the webhook."""
    node, brief = resolve(schema), False
    for step in path:
        brief = brief or BRIEF in node
        below = child_node(node, step)
        if below is None:
            return brief and PRESERVE in node
        node = _outline(below) if brief and step in _LONG else below
    return False


def inline(node: Node, *, brief: bool = False) -> Node:
    """Copies a schema with every `$ref` written out; an own description beside a `$ref` is kept."""
    meant = resolve(node)
    brief = brief or BRIEF in meant
    out = {key: deepcopy(value) for key, value in meant.items() if key not in _CHILDREN and key not in MARKS}
    if "description" in node:
        out["description"] = node["description"]
    if meant.get("properties"):  # an empty one is not stored, and would make every apply a change
        out["properties"] = {
            name: _outline(resolve(member)) if brief and name in _LONG else inline(member, brief=brief)
            for name, member in meant["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if isinstance(meant.get(key), dict):
            out[key] = inline(meant[key], brief=brief)
    return out


def _outline(node: Node) -> Node:
    """An object that keeps every field, or a list of those with its keys."""
    if "items" not in node:
        return {"type": "object", PRESERVE: True}
    out = {key: value for key, value in node.items() if key not in _CHILDREN and key not in MARKS}
    keys = node.get("x-kubernetes-list-map-keys", ())
    members = {key: inline(resolve(node["items"])["properties"][key]) for key in keys}
    return out | {"items": {"type": "object", PRESERVE: True, "properties": members, "required": [*keys]}}


def _version(kind: Kind, version: Version, line: Line, *, stored: bool) -> Node:
    out: Node = {
        "name": version.name,
        "served": version.served,
        "storage": stored,
        "additionalPrinterColumns": [dict(column) for column in _columns(kind.name, version.name, line)],
        "schema": {"openAPIV3Schema": inline(load_schema(kind.name, version.name, line))},
    }
    if version.deprecated:
        out["deprecated"] = True
        out["deprecationWarning"] = f"{api_version(version.name)} {kind.name} is deprecated; use {api_version(BETA)} {kind.name}"
    if kind.subresources:
        out["subresources"] = {name: dict(_SUBRESOURCES[name]) for name in kind.subresources}
    return out


NAMESPACE: Final = "dynamo-system"
SERVICE: Final = "dynamo-webhooks"
PORT: Final = 443
CONVERT: Final = "/convert"
GENERATED_BY: Final = "webhooks.nvidia.com/generated-by"
# "true" permits an update of the definition that definition_guard.py would refuse. It is written as "false", so that applying the
# definition again revokes an earlier permission.
ALLOW_DATA_LOSS: Final = "webhooks.nvidia.com/allow-data-loss"
# Deleting a CustomResourceDefinition deletes every object of its kind, so Helm must not do it along with a release.
_KEEP: Final = ("helm.sh/resource-policy", "keep")


def manifest(kind: str, conversion: Mapping[str, Any], generator: str, line: Line) -> Node:
    """Returns the CustomResourceDefinition of a kind to be applied; `generator` is who wrote it, with its version.

    Only a kind of several versions gets the conversion stanza: the API server would ask for nothing else.
    Raises KeyError for an unknown kind.
    """
    crd = build(kind, conversion=conversion if len(BY_NAME[kind].versions) > 1 else None, line=line)
    crd["metadata"]["annotations"] = dict([_KEEP, (ALLOW_DATA_LOSS, "false"), (GENERATED_BY, generator)])
    return crd


def by_service(namespace: str = NAMESPACE, service: str = SERVICE, bundle: bytes = b"") -> Node:
    """Returns the stanza that sends conversions to a service; `bundle` is the PEM of the certificates to trust.

    Without a bundle, which is how manifests carry it, conversions fail until the provisioner has filled it in: nothing is pruned silently
    meanwhile, and applying the manifest again does not take the bundle away.
    """
    return _webhook({"service": {"namespace": namespace, "name": service, "path": CONVERT, "port": PORT}}, bundle)


def by_url(url: str, bundle: bytes = b"") -> Node:
    """Returns the stanza that sends conversions to a server outside the cluster; `bundle` is the PEM of the certificates to trust."""
    return _webhook({"url": url}, bundle)


def _webhook(client: Node, bundle: bytes) -> Node:
    if bundle:
        client["caBundle"] = b64encode(bundle).decode()
    return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}
