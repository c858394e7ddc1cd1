"""Stands in for Grove, whose operator can't be built here: its definitions, and the reactions of it that the reconciler depends on.

No reaction was measured. Each is played as it is described; who describes it stands behind.

- A PodCliqueSet has a PodClique `SET-0-CLIQUE` for each clique outside of groups, and a PodCliqueScalingGroup `SET-0-GROUP` for each group:
  the Go operator 1.2 scales and judges objects of these names.
- A group has a PodClique `SET-0-GROUP-REPLICA-CLIQUE` for each replica and clique: the addresses of leaders that the Go operator renders.
- The set controls its cliques and groups, a group its cliques: the Go operator finds the graph from owner to owner.
- A PodClique has labels and annotations of its clique: the Go operator watches PodCliques by the label of their graph.
- Replicas of a template count when an object is made, afterwards its scale subresource alone: Grove's PodClique component, as read for
  the specification of the reconciler.
- Cliques in another order are refused: the same reading; the Go operator keeps the order of the live set.
- A set is available when each clique has `minAvailable` pods: Grove's API documentation.
- What is known of the topology stands in a condition of the set: the Go operator copies it into the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tests.cluster.playing import MERGE, Player

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness import ControlPlane

Node: TypeAlias = dict[str, Any]
SETS: Final = "/apis/grove.io/v1alpha1/namespaces/{}/podcliquesets"
CLIQUES: Final = "/apis/grove.io/v1alpha1/namespaces/{}/podcliques"
GROUPS: Final = "/apis/grove.io/v1alpha1/namespaces/{}/podcliquescalinggroups"
GROUP_LABEL: Final = "grove.io/podcliquescalinggroup"
_FREE: Final[Node] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_NUMBER: Final[Node] = {"type": "integer", "format": "int32"}
_CLIQUE: Final[Node] = {**_FREE, "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 45}}}
_CLIQUE_LIST: Final[Node] = {
    "type": "array",
    "maxItems": 50,
    "items": _CLIQUE,
    "x-kubernetes-validations": [
        {"rule": "self.map(one, one.name) == oldSelf.map(one, one.name)", "message": "cliques must stay in their order"}
    ],
}


def definitions() -> list[Node]:
    """The three definitions, with as much schema as the reactions need."""
    template = {**_FREE, "properties": {"cliques": _CLIQUE_LIST}}
    return [
        _definition("podcliquesets", "PodCliqueSet", {"template": template}),
        _definition("podcliques", "PodClique", {}),
        _definition("podcliquescalinggroups", "PodCliqueScalingGroup", {}),
    ]


def _definition(plural: str, kind: str, spec: Node) -> Node:
    properties = {"spec": {**_FREE, "properties": {"replicas": _NUMBER, **spec}}, "status": {**_FREE, "properties": {"replicas": _NUMBER}}}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.grove.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a stand-in for tests"},
        },
        "spec": {
            "group": "grove.io",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


class Grove(Player):
    """Plays the operator until the end of the block. All pods are ready but those that a test holds back."""

    def __init__(self, plane: ControlPlane) -> None:
        """Holds nothing yet."""
        super().__init__(plane, "/apis/grove.io/v1alpha1/podcliquesets")
        self.ready: dict[str, int] = {}  # name of a PodClique or group -> how many of its replicas may become ready
        self.placed: dict[str, Node] = {}  # name of a set -> its condition of the topology
        self.late: set[str] = set()  # names of PodCliques and groups that are not made yet

    def see_to(self, found: Node) -> None:
        """Makes what is below a set, and reports."""
        namespace, template = found["metadata"]["namespace"], found["spec"]["template"]
        groups = template.get("podCliqueScalingGroups") or []
        grouped = {name for group in groups for name in group["cliqueNames"]}
        cliques = {one["name"]: one for one in template["cliques"]}
        enough = True
        for made in _below(found, groups, [one for name, one in cliques.items() if name not in grouped]):
            live = self._made(made, namespace)
            if live is None:
                enough = False
                continue
            for member in _members(live, cliques) if made["kind"] == "PodCliqueScalingGroup" else ():
                self._made(member, namespace)
            enough = self._report(live) and enough
        status: Node = {"observedGeneration": found["metadata"]["generation"], "replicas": 1, "updatedReplicas": 1}
        status |= {"availableReplicas": 1 if enough else 0}
        if found["metadata"]["name"] in self.placed:
            status["conditions"] = [{"type": "TopologyLevelsUnavailable", **self.placed[found["metadata"]["name"]]}]
        self._write_status(SETS.format(namespace), found, status)

    def _made(self, wanted: Node, namespace: str) -> Node | None:
        """The object, which is made when it is not there, and keeps its replicas when it is."""
        name = wanted["metadata"]["name"]
        path = _path(wanted, namespace)
        reply = self.plane.request("GET", f"{path}/{name}")
        if reply.status == 200:
            spec = {key: value for key, value in wanted["spec"].items() if key != "replicas"}
            if any(reply.body["spec"].get(key) != value for key, value in spec.items()):
                reply = self.plane.request("PATCH", f"{path}/{name}", {"spec": spec}, kind=MERGE)
            return reply.body
        if name in self.late:
            return None
        made = self.plane.request("POST", path, wanted)
        return made.body if made.status == 201 else None

    def _report(self, live: Node) -> bool:
        """Writes the status of an object; whether it has as many replicas as its set needs."""
        name, replicas = live["metadata"]["name"], live["spec"]["replicas"]
        ready = min(replicas, self.ready.get(name, replicas))
        serving = "availableReplicas" if live["kind"] == "PodCliqueScalingGroup" else "readyReplicas"
        status = {"observedGeneration": live["metadata"]["generation"], "replicas": replicas, "updatedReplicas": replicas, serving: ready}
        self._write_status(_path(live, live["metadata"]["namespace"]), live, status)
        return bool(ready >= live["spec"].get("minAvailable", 1))

    def _write_status(self, path: str, live: Node, status: Node) -> None:
        if live.get("status") != status:
            self.plane.request("PATCH", f"{path}/{live['metadata']['name']}/status", {"status": status}, kind=MERGE)


def _below(found: Node, groups: list[Node], alone: list[Node]) -> Iterator[Node]:
    """What a set controls."""
    prefix = f"{found['metadata']['name']}-0"
    for group in groups:
        spec = {key: group[key] for key in ("replicas", "minAvailable", "cliqueNames")}
        yield _child(found, "PodCliqueScalingGroup", f"{prefix}-{group['name']}", {}, spec)
    for clique in alone:
        yield _child(found, "PodClique", f"{prefix}-{clique['name']}", clique, clique["spec"])


def _members(group: Node, cliques: dict[str, Node]) -> Iterator[Node]:
    for replica in range(group["spec"]["replicas"]):
        for name in group["spec"]["cliqueNames"]:
            clique = cliques[name]
            labels = {**clique["labels"], GROUP_LABEL: group["metadata"]["name"]}
            yield _child(group, "PodClique", f"{group['metadata']['name']}-{replica}-{name}", {**clique, "labels": labels}, clique["spec"])


def _child(owner: Node, kind: str, name: str, clique: Node, spec: Node) -> Node:
    reference = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    metadata = {"name": name, "ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}]}
    marks = {key: clique[key] for key in ("labels", "annotations") if key in clique}
    return {"apiVersion": "grove.io/v1alpha1", "kind": kind, "metadata": {**metadata, **marks}, "spec": spec}


def _path(obj: Node, namespace: str) -> str:
    return (CLIQUES if obj["kind"] == "PodClique" else GROUPS).format(namespace)
