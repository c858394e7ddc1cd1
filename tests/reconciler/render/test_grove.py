"""Graphs on Grove: names, labels, what belongs to the graph, what keeps a set from being made, and what line 1.5 adds."""

import json
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.reconciler.render.children import RenderedChildren, render
from dynamo_webhooks.reconciler.render.graph import measure_size, read_graph
from dynamo_webhooks.reconciler.render.grove import clique_set
from dynamo_webhooks.reconciler.render.grove.names import set_name
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.rendering import children, component, graph, rendered, stored, vllm
from tests.rows import run_each

Fields = dict[str, Any]
WIDE: Fields = {"multinode": {"nodeCount": 2}}
SHARED: Fields = {"gpuMemoryService": {"mode": "InterPod"}}


def _set(obj: Fields, **settings: Any) -> Fields:
    template: Fields = children(obj, grove=True, **settings)["PodCliqueSet g"]["spec"]["template"]
    return template


def _clique(obj: Fields, name: str, **settings: Any) -> Fields:
    clique: Fields = next(clique for clique in _set(obj, **settings)["cliques"] if clique["name"] == name)
    return clique


@run_each(
    ("name", "member", "expected"),
    [
        ("g", component("frontend"), "g"),
        ("a-very-long-graph-deployment-name-0123456", component("frontend"), "a-very-long-graph-deployment-nam-2d77"),
        ("a-very-long-graph-deployment", component("decode-worker", **WIDE), "a-very-lon-2ae7"),
        ("twelve-chars", component("x" * 30, **WIDE), "twe-"),
    ],
)
def test_long_names_of_graphs_are_cut_so_that_pods_can_be_named(name: str, member: Fields, expected: str) -> None:
    result = set_name(read_graph(graph(member, name=name), line=Line.V1_2))
    assert result.startswith(expected)
    assert len(result) == (len(expected) if expected != "twe-" else 8)


def test_pods_that_discover_by_etcd_get_no_account() -> None:
    obj = graph(component("fe", "frontend"), annotations={"nvidia.com/dynamo-discovery-backend": "etcd"})
    clique = _clique(obj, "fe", service_account="labelled")
    assert "serviceAccountName" not in clique["spec"]["podSpec"]
    assert clique["annotations"]["nvidia.com/dynamo-discovery-backend"] == "etcd"
    assert "nvidia.com/dynamo-discovery-enabled" not in clique["labels"]


def test_a_load_format_of_the_users_own_stays() -> None:
    args = _clique(graph(vllm("w", args=("--load-format", "x"), experimental=SHARED)), "w")["spec"]["podSpec"]["containers"][0]["args"]
    assert args == ["--model", "m", "--load-format", "x"]


def test_more_nodes_than_any_cluster_has_are_a_problem() -> None:
    cases: tuple[Fields, ...] = ({}, SHARED)
    for experimental in cases:
        done = rendered(graph(vllm("w", multinode={"nodeCount": 2**31 - 1}, experimental=experimental)), grove=True)
        assert [str(problem) for problem in done.problems] == [
            "spec.components[0].multinode.nodeCount: must be at most 1024 for children to be made, got 2147483647"
        ]


def test_pods_go_to_the_scheduler_that_the_user_chose() -> None:
    pool = {"nvidia.com/kai-scheduler-node-pool": "gb200"}
    others = component("b", pod={"schedulerName": "mine"}), component("c", pod={"schedulerName": "kai-scheduler"})
    obj = graph(component("a"), *others, annotations=pool)
    cliques = {clique["name"]: clique for clique in _set(obj, kai=True)["cliques"]}
    keys = ("kai.scheduler/queue", "kai.scheduler/node-pool")
    scheduled = {name: [clique["spec"]["podSpec"]["schedulerName"], *map(clique["labels"].get, keys)] for name, clique in cliques.items()}
    kai = ["kai-scheduler", "dynamo", "gb200"]
    assert scheduled == {"a": kai, "b": ["mine", None, None], "c": kai}
    assert "schedulerName" not in _clique(obj, "a")["spec"]["podSpec"]


def test_volcano_places_pods_of_its_queue_instead_of_kai_where_it_is_switched_on() -> None:
    queue = "nvidia.com/volcano-scheduler-queue"
    obj = graph(component("a"), component("b", pod={"schedulerName": "mine"}), annotations={queue: "team"})
    cliques = {clique["name"]: clique for clique in _set(obj, kai=True, volcano=True)["cliques"]}
    assert {name: clique["spec"]["podSpec"]["schedulerName"] for name, clique in cliques.items()} == {"a": "volcano", "b": "mine"}
    assert {name: part["annotations"].get("scheduling.volcano.sh/queue-name") for name, part in cliques.items()} == {"a": "team", "b": None}
    assert not any("kai.scheduler/queue" in clique["labels"] for clique in cliques.values())
    notes = [str(note) for note in rendered(obj, grove=True).notes]
    assert [note.partition(": has no effect: Volcano")[0] for note in notes] == [f"metadata.annotations[{queue}]"]
    assert rendered(obj, grove=True, volcano=True).notes == []


def test_services_follow_the_graph_not_the_template() -> None:
    etcd = {"nvidia.com/dynamo-discovery-backend": "etcd"}
    members = (component("fe", "frontend"), component("w", "worker", podTemplate={"metadata": {"annotations": etcd}}))

    def services(**settings: Any) -> list[str]:
        return [obj["metadata"]["name"] for obj in rendered(graph(*members, **settings), grove=True).children if obj["kind"] == "Service"]

    assert services() == ["g-fe", "g-w"]
    assert services(annotations=etcd) == ["g-fe"]


def test_metrics_are_switched_off_by_the_graph_alone() -> None:
    off = {"nvidia.com/enable-metrics": "false"}
    worker = component("w", podTemplate={"metadata": {"annotations": off}})
    assert _clique(graph(worker), "w")["labels"]["nvidia.com/metrics-enabled"] == "true"
    assert "nvidia.com/metrics-enabled" not in _clique(graph(component("w"), annotations=off), "w")["labels"]


def test_a_place_comes_from_the_policy_and_is_told_to_engines_alone() -> None:
    key = "nvidia.com/topology-label-key"
    policy = {"kvTransferPolicy": {"labelKey": "zone", "domain": "zone"}}
    worker = vllm("w", experimental=SHARED, podTemplate={"metadata": {"annotations": {key: "mine"}}})
    obj = graph(worker, experimental=policy)
    assert _clique(obj, "w")["annotations"][key] == "zone"
    assert key not in _clique(obj, "w-gms-0")["annotations"]
    assert key not in _clique(graph(worker), "w")["annotations"]


@run_each(
    ("wide", "other", "name"),
    [
        (vllm("w", **WIDE), vllm("w-ldr"), "w-ldr"),
        (vllm("W", **WIDE), component("w-wkr"), "w-wkr"),
        (vllm("w", experimental=SHARED), vllm("w-gms-0"), "w-gms-0"),
        (vllm("w", experimental=SHARED, **WIDE), vllm("w-wkr-1"), "w-wkr-1"),
    ],
)
@run_each("turn", [1, -1])
def test_components_that_would_make_the_same_clique_are_named(wide: Fields, other: Fields, name: str, turn: int) -> None:
    both = [wide, other][::turn]
    done = rendered(graph(*both), grove=True)
    ending = f"would make the PodClique {name} of Grove, as spec.components[0] ({both[0]['name']}) does; rename one of both"
    assert f"spec.components[1].name: must be another one: {both[1]['name']} {ending}" in [str(problem) for problem in done.problems]
    assert "PodCliqueSet" not in {child["kind"] for child in done.children}
    assert rendered(graph(*both, annotations={"nvidia.com/enable-grove": "False"}), grove=True, lws=True).problems == []


def test_components_whose_names_only_begin_alike_run_on_grove() -> None:
    template = _set(graph(vllm("w", **WIDE), vllm("w-ldr", **WIDE), vllm("w-led")))
    assert [clique["name"] for clique in template["cliques"]] == ["w-ldr", "w-wkr", "w-ldr-ldr", "w-ldr-wkr", "w-led"]


@pytest.mark.parametrize(
    ("members", "more"),
    [
        ([vllm(f"w{number}", experimental=SHARED, multinode={"nodeCount": 1024}) for number in range(25)], {}),
        ([vllm("w", experimental=SHARED, multinode={"nodeCount": 1024})], {}),
        ([vllm("w", experimental=SHARED, multinode={"nodeCount": 9})], {"env": [{"name": "A", "value": "x" * 200_000}]}),
        ([vllm(f"w{number}") for number in range(25)], {"env": [{"name": "A", "value": "x" * 200_000}]}),
    ],
)
def test_a_set_that_no_api_server_takes_is_refused_before_it_is_rendered(
    members: list[Fields], more: Fields, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clique_set, "make_cliques", None)  # calling it fails
    done = rendered(graph(*members, **more), grove=True)
    [problem] = [str(problem) for problem in done.problems if "podTemplate: must be short enough" in str(problem)]
    assert "for a PodCliqueSet of 3145728 bytes" in problem
    assert "PodCliqueSet" not in {child["kind"] for child in done.children}


def test_what_is_refused_for_its_size_would_be_larger_than_that() -> None:
    """The estimate must not refuse what an API server would take."""
    for number in range(1, 4):
        member = component(
            "w", "", {"resources": {"limits": {"nvidia.com/gpu": "1"}}}, experimental=SHARED, multinode={"nodeCount": number}
        )
        obj = graph(member, env=[{"name": "A", "value": "x"}])
        made = [len(json.dumps(clique, separators=(",", ":"))) for clique in _set(obj)["cliques"]]
        each = measure_size(obj["spec"]["env"]) + measure_size(member["podTemplate"]) + clique_set.MIN_CLIQUE_BYTES
        assert each * len(made) <= sum(made)


def test_a_graph_of_which_too_much_is_copied_into_each_component_is_refused() -> None:
    done = rendered(graph(*(vllm(f"w{number}") for number in range(25)), env=[{"name": "A", "value": "x" * 400_000}]))
    assert done.children == []
    assert [str(problem) for problem in done.problems] == [
        "spec: env, labels, annotations must be at most 8388608 characters of JSON in all components together, got 10000925;"
        " set long ones in the components that need them"
    ]


@run_each("fields", [WIDE, {"experimental": SHARED}, {"experimental": {"grove": {"forceScalingGroup": True}}}])
def test_a_scaling_group_without_replicas_is_made_with_the_fewest_and_scaled_then(fields: Fields) -> None:
    for least in (1, 2):
        obj = stored(graph(component("fe", "frontend"), vllm("w", replicas=0, minAvailable=least, **fields)), "1.5.0")
        done = render(obj, Settings(operator_version="1.5.0", grove=True))
        [made] = [child for child in done.children if child["kind"] == "PodCliqueSet"]
        [group] = made["spec"]["template"]["podCliqueScalingGroups"]
        assert (group["replicas"], group["minAvailable"]) == (least, least)


API = "grove.io/v1alpha1"


def _override(domain: str, **more: Any) -> Fields:
    return {"apiVersion": API, "value": {"topologyConstraint": {"packDomain": domain}}, **more}


def _over(**more: Any) -> Fields:
    return {"providerOverride": _override("rack", **more)}


def _rendered(*components: Fields, version: str = "1.5.0", pack: bool | None = None, **spec: Any) -> RenderedChildren:
    obj = stored(graph(*components, **spec), version, grove=True)
    return render(obj, Settings(operator_version=version, grove=True, explicit_packing=pack))


def _template(*components: Fields, **spec: Any) -> Fields:
    done = _rendered(*components, **spec)
    assert [str(problem) for problem in done.problems] == []
    [child] = [child for child in done.children if child["kind"] == "PodCliqueSet"]
    template: Fields = child["spec"]["template"]
    return template


def _places(template: Fields) -> Fields:
    """Every constraint of a set, by what it is of."""
    named = [("set", template), *((f"group {group['name']}", group) for group in template.get("podCliqueScalingGroups", ()))]
    named += [(clique["name"], clique) for clique in template["cliques"]]
    return {name: part["topologyConstraint"] for name, part in named if "topologyConstraint" in part}


@run_each(("version", "pack", "named"), [("1.2.0", None, False), ("1.3.0", None, True), ("1.2.0", True, True), ("1.6.0", False, False)])
def test_grove_packs_by_the_topology_that_a_graph_names_as_its_definition_has_it(version: str, pack: bool | None, *, named: bool) -> None:
    wide = vllm("wide", multinode={"nodeCount": 2}, topologyConstraint={"packDomain": "rack"})
    alone = vllm("alone", topologyConstraint={"packDomain": "host"})
    whole = {"clusterTopologyName": "t", "packDomain": "zone"}
    done = _rendered(wide, alone, version=version, pack=pack, topologyConstraint=whole)
    [made] = [child for child in done.children if child["kind"] == "PodCliqueSet"]
    places = {"set": "zone", "group wide": "rack", "alone": "host"}
    assert _places(made["spec"]["template"]) == {
        place: {"topologyName": "t", "pack": {"required": domain}} if named else {"packDomain": domain} for place, domain in places.items()
    }
    assert any("clusterTopologyName" in str(note) for note in done.notes) == (not named)


def test_each_override_stands_in_the_place_that_it_means() -> None:
    root = {"apiVersion": API, "value": {"spec": {"template": {"topologyConstraint": {"packDomain": "zone"}}}}}
    roles = [{"name": "leader", "providerOverride": _override("host")}, {"name": "worker", **_over()}]
    wide = vllm("wide", providerOverride=_override("block"), multinode={"nodeCount": 3}, roles=roles)
    forced = vllm("forced", providerOverride=_override("aisle"), experimental={"grove": {"forceScalingGroup": True}})
    template = _template(wide, forced, vllm("alone", providerOverride=_override("row")), providerOverride=root)
    places = {"set": "zone", "group wide": "block", "group forced": "aisle", "wide-ldr": "host", "wide-wkr": "rack", "alone": "row"}
    assert _places(template) == {place: {"pack": {"required": domain}} for place, domain in places.items()}


def test_a_value_of_grove_is_taken_as_it_is() -> None:
    value = {"topologyConstraint": {"packConstraint": {"required": "rack", "odd": [None, 1.5]}}}
    [clique] = _template(vllm("w", providerOverride={"apiVersion": API, "value": value}))["cliques"]
    assert clique["topologyConstraint"] == value["topologyConstraint"]


@run_each(
    ("component", "field", "text"),
    [
        (_over(apiVersion="v2"), "providerOverride.apiVersion", "must be grove.io/v1alpha1, got 'v2'"),
        (_over(target="PodCliqueSet"), "providerOverride.target", "must be PodCliqueTemplateSpec at this place"),
        (_over(value={"spec": {}}), "providerOverride.value.topologyConstraint", "must be an object"),
        (_over(value={"topologyConstraint": "r"}), "providerOverride.value.topologyConstraint", "must be"),
        (
            {"multinode": {"nodeCount": 1}, "roles": [{"name": "leader", **_over()}]},
            "roles[0].providerOverride",
            "must be absent: only a component on several nodes",
        ),
    ],
)
def test_an_override_that_means_nothing_is_a_problem(component: Fields, field: str, text: str) -> None:
    done = _rendered(vllm("w", **component))
    [problem] = done.problems
    assert str(problem).startswith(f"spec.components[0].{field}: {text}")
    assert not any(child["kind"] == "PodCliqueSet" for child in done.children)  # whole or not at all


def test_minima_are_of_what_scales() -> None:
    template = _template(
        vllm("alone", replicas=4, minAvailable=3),
        vllm("wide", replicas=4, minAvailable=2, multinode={"nodeCount": 3}),
        vllm("forced", replicas=5, minAvailable=4, experimental={"grove": {"forceScalingGroup": True}}),
    )
    groups = {part["name"]: (part["cliqueNames"], part["replicas"], part["minAvailable"]) for part in template["podCliqueScalingGroups"]}
    assert groups == {"wide": (["wide-ldr", "wide-wkr"], 4, 2), "forced": (["forced"], 5, 4)}
    cliques = {clique["name"]: (clique["spec"]["replicas"], clique["spec"]["minAvailable"]) for clique in template["cliques"]}
    assert cliques == {"alone": (4, 3), "wide-ldr": (1, 1), "wide-wkr": (2, 2), "forced": (1, 1)}
