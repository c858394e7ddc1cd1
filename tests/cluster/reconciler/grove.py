"""Stands in for Grove, whose operator can't be built here: its definitions, and the reactions of it that the reconciler depends on.

It fakes the neighbour, never the API server. No reaction was measured; each is a function, played as it is described:

- `make_below`: a PodCliqueSet has a PodClique `SET-0-CLIQUE` for each clique outside of groups, and a PodCliqueScalingGroup `SET-0-GROUP`
  for each group: the Go operator 1.2 scales and judges objects of these names. The set controls them.
- `make_members`: a group has a PodClique `SET-0-GROUP-REPLICA-CLIQUE` for each replica and clique, and controls it: the addresses of
  leaders that the Go operator renders, which finds the graph from owner to owner. Those of surplus replicas go.
- `make_object`: replicas of a template count when an object is made, afterwards its scale subresource alone: Grove's PodClique component,
  as read for the specification of the reconciler. No set is rolled: other templates of a live one reach nothing.
- `make_pods`: a PodClique has a pod for each index below its replicas. A pod that ended counts as there: it is neither deleted nor
  replaced. One that is gone is made anew, and so is a group of pods when all of them are gone.
- `count_clique`, `count_group`, `count_set`: replicas, and those that are ready or available, as Grove's API documentation says, and in
  `lastErrors` why pods are refused; a
  replica of a group is available when each clique has `minAvailable` ready pods. What is known of the topology stands in a condition
  of the set.
- `definitions` refuses cliques in another order, and groups of no replicas, in the words of Grove's webhook.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from tests.cluster.harness import ControlPlane, Reply
from tests.cluster.objects import foreign
from tests.cluster.playing import MERGE, Player

Node: TypeAlias = dict[str, Any]
SETS: Final = "/apis/grove.io/v1alpha1/namespaces/{}/podcliquesets"
CLIQUES: Final = "/apis/grove.io/v1alpha1/namespaces/{}/podcliques"
GROUPS: Final = "/apis/grove.io/v1alpha1/namespaces/{}/podcliquescalinggroups"
PODS: Final = "/api/v1/namespaces/{}/pods"
GROUP_LABEL: Final = "grove.io/podcliquescalinggroup"
REPLICA_LABEL: Final = "grove.io/podcliquescalinggroup-replica-index"
INDEX_LABEL: Final = "grove.io/podclique-pod-index"
SET_LABEL: Final = "app.kubernetes.io/part-of"
_CLIQUE_LABEL: Final = "grove.io/podclique"
_FREE: Final[Node] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_NUMBER: Final[Node] = {"type": "integer", "format": "int32"}
_POSITIVE: Final[Node] = {**_NUMBER, "x-kubernetes-validations": [{"rule": "self > 0", "message": "must be greater than 0"}]}
_CLIQUE: Final[Node] = {**_FREE, "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 45}}}
_CLIQUE_LIST: Final[Node] = {
    "type": "array",
    "maxItems": 50,
    "items": _CLIQUE,
    "x-kubernetes-validations": [
        {"rule": "self.map(one, one.name) == oldSelf.map(one, one.name)", "message": "cliques must stay in their order"}
    ],
}
_GROUP_LIST: Final[Node] = {"type": "array", "maxItems": 50, "items": {**_FREE, "properties": {"replicas": _POSITIVE}}}


def definitions() -> list[Node]:
    """The three definitions, with as much schema as the reactions need."""
    template = {**_FREE, "properties": {"cliques": _CLIQUE_LIST, "podCliqueScalingGroups": _GROUP_LIST}}
    return [
        _definition("podcliquesets", "PodCliqueSet", {"template": template}),
        _definition("podcliques", "PodClique", {}),
        _definition("podcliquescalinggroups", "PodCliqueScalingGroup", {}),
    ]


def _definition(plural: str, kind: str, spec: Node) -> Node:
    properties = {"spec": {**_FREE, "properties": {"replicas": _NUMBER, **spec}}, "status": {**_FREE, "properties": {"replicas": _NUMBER}}}
    definition = foreign("grove.io", kind, plural, version="v1alpha1")
    definition["spec"]["versions"][0] |= {
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
    }
    return definition


class Grove(Player):
    """Plays the operator until the end of the block. Somebody else makes pods ready."""

    def __init__(self, plane: ControlPlane) -> None:
        """Knows no topology yet."""
        super().__init__(plane, "/apis/grove.io/v1alpha1/podcliquesets")
        self.placed: dict[str, Node] = {}  # name of a set -> its condition of the topology
        self.refused: dict[str, str] = {}  # uid of a clique -> why the API server refused its last pod

    def see_to(self, obj: Node) -> None:
        """Makes what is below a set, rolls it, and reports."""
        if "deletionTimestamp" in obj["metadata"]:
            return
        namespace, template = obj["metadata"]["namespace"], obj["spec"]["template"]
        templates = {entry["name"]: entry for entry in template["cliques"]}
        pods = self._listed(f"{PODS.format(namespace)}?labelSelector={SET_LABEL}%3D{obj['metadata']['name']}")
        cliques: list[Node] = []
        groups: list[tuple[Node, list[Node]]] = []
        for wanted in make_below(obj):
            live = self.make_object(wanted)
            if live["kind"] == "PodClique":
                cliques.append(live)
            else:
                members = [self.make_object(member) for member in make_members(live, templates)]
                self.drop_surplus_members(live, members)
                groups.append((live, members))
                cliques += members
        for clique in cliques:
            self.make_pods(clique, _pods_of(clique, pods), obj["metadata"]["name"])
        counted = [(clique, self.count_clique(clique, _pods_of(clique, pods))) for clique in cliques]
        enough = all(status["readyReplicas"] >= clique["spec"].get("minAvailable", 1) for clique, status in counted)
        for group, members in groups:
            self.count_group(group, [pair for pair in counted if pair[0] in members])
        self.count_set(obj, enough=enough)

    def make_object(self, wanted: Node) -> Node:
        """Gives an object that is there, or makes it."""
        path = _path(wanted)
        reply = self.plane.request("GET", f"{path}/{wanted['metadata']['name']}")
        return reply.body if reply.status == 200 else _answer(self.plane.request("POST", path, wanted))

    def drop_surplus_members(self, group: Node, members: list[Node]) -> None:
        """Deletes the PodCliques of replicas that a group no longer has."""
        wanted = {member["metadata"]["name"] for member in members}
        selected = f"{CLIQUES.format(group['metadata']['namespace'])}?labelSelector={GROUP_LABEL}%3D{group['metadata']['name']}"
        for clique in self._listed(selected):
            if clique["metadata"]["name"] not in wanted:
                self.plane.request("DELETE", f"{_path(clique)}/{clique['metadata']['name']}")

    def make_pods(self, clique: Node, pods: list[Node], set_name: str) -> None:
        """Makes the pods that a clique lacks, and deletes surplus ones. What ended is there."""
        by_index = {int(obj["metadata"]["labels"][INDEX_LABEL]): obj for obj in pods}
        for index, pod in by_index.items():
            if index >= clique["spec"]["replicas"]:
                self._delete(pod)
        for index in {*range(clique["spec"]["replicas"])} - by_index.keys():
            reply = self.plane.request("POST", PODS.format(clique["metadata"]["namespace"]), make_pod(clique, index, set_name))
            if reply.status >= 400:
                self.refused[clique["metadata"]["uid"]] = str(reply.body.get("message"))

    def count_clique(self, clique: Node, pods: list[Node]) -> Node:
        """Reports a clique."""
        status = {"observedGeneration": clique["metadata"]["generation"], "replicas": len(pods), "updatedReplicas": len(pods)}
        status["readyReplicas"] = sum(map(_is_ready, pods))
        if len(pods) < clique["spec"]["replicas"] and (why := self.refused.get(clique["metadata"]["uid"])):
            status["lastErrors"] = [{"code": "ERR_CREATE_PODS", "description": why}]
        self._write_status(clique, status)
        return status

    def count_group(self, group: Node, members: list[tuple[Node, Node]]) -> None:
        """Reports a group by its replicas."""
        replicas: dict[str, list[tuple[Node, Node]]] = {}
        for clique, status in members:
            replicas.setdefault(clique["metadata"]["labels"][REPLICA_LABEL], []).append((clique, status))
        available = [
            all(status["readyReplicas"] >= member["spec"].get("minAvailable", 1) for member, status in each) for each in replicas.values()
        ]
        status = {"observedGeneration": group["metadata"]["generation"], "replicas": len(replicas), "updatedReplicas": len(replicas)}
        self._write_status(group, {**status, "availableReplicas": sum(available)})

    def count_set(self, obj: Node, *, enough: bool) -> None:
        """Reports a set."""
        generation = obj["metadata"]["generation"]
        status: Node = {"observedGeneration": generation, "replicas": 1, "updatedReplicas": 1, "availableReplicas": int(enough)}
        if obj["metadata"]["name"] in self.placed:
            status["conditions"] = [{"type": "TopologyLevelsUnavailable", **self.placed[obj["metadata"]["name"]]}]
        self._write_status(obj, status)

    def _listed(self, path: str) -> list[Node]:
        """Objects that are not being deleted; those of one kind don't name it."""
        reply = _answer(self.plane.request("GET", path))
        kind = str(reply["kind"]).removesuffix("List")
        return [{**obj, "kind": kind} for obj in reply["items"] if "deletionTimestamp" not in obj["metadata"]]

    def _delete(self, pod: Node) -> None:
        metadata = pod["metadata"]
        self.plane.request(
            "DELETE", f"{PODS.format(metadata['namespace'])}/{metadata['name']}", {"preconditions": {"uid": metadata["uid"]}}
        )

    def _write_status(self, live: Node, status: Node) -> None:
        if live.get("status") != status:
            # what the new one lacks goes
            gone = dict.fromkeys(live.get("status") or {})
            self.plane.request("PATCH", f"{_path(live)}/{live['metadata']['name']}/status", {"status": {**gone, **status}}, kind=MERGE)


def make_below(owner: Node) -> Iterator[Node]:
    """What a set controls."""
    template, prefix = owner["spec"]["template"], f"{owner['metadata']['name']}-0"
    groups = template.get("podCliqueScalingGroups") or []
    grouped = {name for group in groups for name in group["cliqueNames"]}
    for group in groups:
        spec = {key: group[key] for key in ("replicas", "minAvailable", "cliqueNames")}
        yield _child(owner, "PodCliqueScalingGroup", f"{prefix}-{group['name']}", spec)
    for clique in template["cliques"]:
        if clique["name"] not in grouped:
            yield _clique(owner, f"{prefix}-{clique['name']}", clique)


def make_members(group: Node, templates: dict[str, Node]) -> Iterator[Node]:
    """What a group controls."""
    for replica in range(group["spec"]["replicas"]):
        for name in group["spec"]["cliqueNames"]:
            marks = {GROUP_LABEL: group["metadata"]["name"], REPLICA_LABEL: str(replica)}
            yield _clique(group, f"{group['metadata']['name']}-{replica}-{name}", templates[name], marks)


def make_pod(clique: Node, index: int, set_name: str) -> Node:
    """A pod of a clique, with Grove's labels and variables."""
    metadata, spec = clique["metadata"], json.loads(json.dumps(clique["spec"]["podSpec"]))
    labels = {**metadata["labels"], SET_LABEL: set_name, _CLIQUE_LABEL: metadata["name"], INDEX_LABEL: str(index)}
    values = {"GROVE_PCLQ_NAME": metadata["name"], "GROVE_PCLQ_POD_INDEX": str(index), "GROVE_HEADLESS_SERVICE": f"{set_name}-0"}
    if GROUP_LABEL in labels:
        values |= {"GROVE_PCSG_NAME": labels[GROUP_LABEL], "GROVE_PCSG_INDEX": labels[REPLICA_LABEL]}
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        container["env"] = [*({"name": name, "value": value} for name, value in values.items()), *container.get("env", ())]
    made = _child(clique, "Pod", "", {**spec, "hostname": f"{metadata['name']}-{index}"}, "v1")
    marks = {"generateName": f"{metadata['name']}-", "labels": labels, "annotations": metadata.get("annotations", {})}
    return {**made, "metadata": {"ownerReferences": made["metadata"]["ownerReferences"], **marks}}


def _clique(owner: Node, name: str, template: Node, labels: Node | None = None) -> Node:
    made = _child(owner, "PodClique", name, template["spec"])
    metadata = {key: template.get(key) or {} for key in ("labels", "annotations")}
    made["metadata"]["labels"] = {**metadata["labels"], **(labels or {})}
    if metadata["annotations"]:
        made["metadata"]["annotations"] = metadata["annotations"]
    return made


def _child(owner: Node, kind: str, name: str, spec: Node, version: str = "grove.io/v1alpha1") -> Node:
    metadata = owner["metadata"]
    reference = {"apiVersion": "grove.io/v1alpha1", "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    owners = [{**reference, "controller": True, "blockOwnerDeletion": True}]
    made = {"name": name, "namespace": metadata["namespace"], "ownerReferences": owners}
    return {"apiVersion": version, "kind": kind, "metadata": made, "spec": spec}


def _answer(reply: Reply) -> Node:
    """What was asked for; otherwise the next look tries again."""
    if reply.status not in (200, 201):
        raise ValueError(reply.body)
    return reply.body


def _pods_of(clique: Node, pods: list[Node]) -> list[Node]:
    return [pod for pod in pods if pod["metadata"]["ownerReferences"][0]["uid"] == clique["metadata"]["uid"]]


def _is_ready(pod: Node) -> bool:
    return any((condition["type"], condition["status"]) == ("Ready", "True") for condition in pod.get("status", {}).get("conditions", ()))


def _path(obj: Node) -> str:
    paths = {"PodCliqueSet": SETS, "PodClique": CLIQUES, "PodCliqueScalingGroup": GROUPS}
    return paths[obj["kind"]].format(obj["metadata"]["namespace"])
