"""Edits of running graphs on Grove, one for a leaf of a component's schema: what admission admits changes nothing that Grove fixes.

Grove's operator can't be built here: what it fixes and refuses is the list that was measured beside its webhooks. GROVE_EDITS is the number
of edits (300; `make nightly` tries each leaf of each component twice), LAWS_SEED the seed.
"""

import copy
import os
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, Final, TypeAlias

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.line import NEWEST
from dynamo_webhooks.api.paths import Path
from dynamo_webhooks.api.schema import Node, load_schema, resolve
from dynamo_webhooks.cli.commands.render.kinds import render_children
from dynamo_webhooks.cli.commands.render.run import choose_operator
from dynamo_webhooks.cli.objects.forms import create
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import Level
from dynamo_webhooks.reconciler.render.object_index import ObjectIndex
from tests.cluster.mistaken import Mistakes
from tests.reconciler.rendering import component, graph, vllm

Object: TypeAlias = dict[str, Any]
SEED: Final = int(os.environ["LAWS_SEED"])
EDITS: Final = int(os.environ.get("GROVE_EDITS") or 300)
FACTS: Final = Facts(
    operatorVersion=f"{NEWEST}.0", grove=True, lws=True, dra=True, inferencePool=True, operatorPrincipal="op", checkpoint=True
)
OPERATOR: Final = choose_operator(FACTS, None)[0]
_IMAGE: Final = {"image": "img/vllm:1.7.0"}
_FRONTEND: Final = component("Frontend", "frontend", _IMAGE, replicas=1)
_SHARED: Final = {"gpuMemoryService": {"mode": "InterPod"}, "failover": {"mode": "InterPod", "numShadows": 1}}
GRAPHS: Final = {
    "nodes": graph(_FRONTEND, vllm("w", replicas=2, main=_IMAGE), vllm("wide", replicas=1, main=_IMAGE, multinode={"nodeCount": 2})),
    "shared": graph(_FRONTEND, vllm("w", replicas=1, gpus="2", main=_IMAGE, experimental=_SHARED)),
}
_COMPONENT: Final[Node] = load_schema("DynamoGraphDeployment", "v1beta1", NEWEST)["properties"]["spec"]["properties"]["components"]["items"]
_FIXED_OF_CLIQUE: Final = ("startsAfter", "minAvailable", "roleName")
_FIXED_OF_GROUP: Final = ("name", "cliqueNames", "minAvailable")
_REFUSED: Final = ("nodeName", "topologySpreadConstraints")


def test_what_grove_refuses_of_an_edit_is_refused_before() -> None:
    leaves = [(name, place, *leaf, number) for name, obj in GRAPHS.items() for place in range(len(obj["spec"]["components"]))
              for leaf in _leaves(_COMPONENT, ()) for number in range(2)]  # fmt: skip
    chosen = Random(SEED).sample(leaves, min(EDITS, len(leaves)))  # noqa: S311 - no secret
    olds = {name: create(obj, FACTS, "") for name, obj in GRAPHS.items()}
    before = {name: _clique_set(obj) for name, obj in olds.items()}
    wrong, ends = [], Counter[str]()
    for name, place, path, node, number in chosen:
        new = copy.deepcopy(olds[name])
        Mistakes(f"{SEED} {name} {path} {number}").put(new["spec"]["components"][place], _COMPONENT, path, node)
        write = Admission("DynamoGraphDeployment", "v1beta1", UPDATE, new, olds[name], user="u", settings=Settings(FACTS))
        if write.decode() or write.conform() or any(finding.level is Level.ERROR for finding in write.judge()):
            ends["refused"] += 1
            continue
        ends["admitted"] += 1
        now = _clique_set(new)
        if now and before[name] != now:
            wrong.append(f"{name}: components[{place}] {path}: {before[name]} becomes {now}")
    assert not wrong, f"seed {SEED}:\n" + "\n".join(wrong)
    assert min(ends["refused"], ends["admitted"]) > len(chosen) // 30, ends


def _leaves(node: Node, path: Path) -> Iterator[tuple[Path, Node]]:
    node = resolve(node)
    items = resolve(node["items"]) if node.get("type") == "array" else {}
    if node.get("properties"):
        for name, member in node["properties"].items():
            yield from _leaves(member, (*path, name))
    elif items.get("properties"):
        yield from _leaves(items, (*path, 0))
    else:
        yield path, node


def _clique_set(obj: Object) -> Object:
    """What Grove fixes of the set that a graph is rendered to, and what it refuses in one; empty where a part can't be rendered."""
    made = render_children(obj, ObjectIndex([obj], "demo"), OPERATOR)
    templates = [child["spec"]["template"] for child in made.children if child["kind"] == "PodCliqueSet"]
    if made.problems or not templates:
        return {}
    [template] = templates
    cliques = {clique["name"]: clique["spec"] for clique in template["cliques"]}
    return {
        "order": [*cliques],
        "groups": [[group.get(field) for field in _FIXED_OF_GROUP] for group in template.get("podCliqueScalingGroups") or ()],
        "startup": template.get("cliqueStartupType"),
        "claims": template.get("resourceClaimTemplates"),
        "schedulers": [spec["podSpec"].get("schedulerName") or "" for spec in cliques.values()],
        "cliques": {name: [spec.get(field) for field in _FIXED_OF_CLIQUE] for name, spec in cliques.items()},
        "refused": {name: spec["podSpec"][field] for name, spec in cliques.items() for field in _REFUSED if spec["podSpec"].get(field)},
    }
