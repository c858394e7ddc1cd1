"""What rendering of line 1.5 takes from the version of a component's runtime, and what it leaves as it was."""

from typing import Any

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.reconciler.render.children import compute_worker_hash, render
from dynamo_webhooks.reconciler.render.graph import read_graph
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.rendering import component, env_of, graph, main_of, stored, vllm
from tests.rows import run_each

Fields = dict[str, Any]
CANARY = "DYN_HEALTH_CHECK_ENABLED"


def _made(obj: Fields, version: str, kind: str = "Deployment", **settings: Any) -> Fields:
    """The one child of a kind, by an operator of a version."""
    done = render(stored(obj, version), Settings(operator_version=version, **settings))
    assert done.problems == []
    return next(child for child in done.children if child["kind"] == kind)


def _worker(image: str = "vllm:1.5.0", **fields: Any) -> Fields:
    return graph(vllm(main={"image": image, **fields.pop("main", {})}, **fields))


@run_each(
    ("operator", "image", "override", "newer"),
    [
        ("1.2.0", "vllm:1.5.0", "", False),
        ("1.4.0", "vllm:1.6.0", "", False),
        ("1.5.0", "vllm:1.4.9", "", False),
        ("1.5.0", "vllm:latest", "", False),
        ("1.5.0", "vllm:1.5.0", "1.4.0", False),
        ("1.5.0", "vllm:1.5.0-rc1", "", True),
        ("1.5.0", "vllm:latest", "1.5.0", True),
        ("1.6.0", "vllm:1.6.0", "", True),
    ],
)
@run_each("grove", [False, True])
def test_workers_from_1_5_0_on_check_their_health_and_are_given_time(
    operator: str, image: str, override: str, *, newer: bool, grove: bool
) -> None:
    obj = _worker(image, **({"runtimeVersionOverride": override} if override else {}))
    made = _made(obj, operator, "PodCliqueSet" if grove else "Deployment", grove=grove)
    main = made["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0] if grove else main_of(made)
    assert env_of(main)[CANARY] == ("true" if newer else "false")
    assert main["livenessProbe"]["failureThreshold"] == (3 if newer else 1)


def test_a_value_and_a_probe_of_the_author_win() -> None:
    main = main_of(_made(_worker(main={"env": [{"name": CANARY, "value": "false"}], "livenessProbe": {"failureThreshold": 7}}), "1.5.0"))
    assert env_of(main)[CANARY] == "false"
    assert main["livenessProbe"] == {"failureThreshold": 7}


def test_other_types_are_asked_as_before() -> None:
    made = _made(graph(component("plan", "planner", {"image": "planner:1.5.0"})), "1.5.0")
    assert main_of(made)["livenessProbe"]["failureThreshold"] == 1


def test_the_version_as_it_is_resolved_makes_a_generation_from_1_5_0_on() -> None:
    def generation(line: Line, override: str) -> str:
        return compute_worker_hash(read_graph(stored(_worker("vllm:latest", runtimeVersionOverride=override), f"{line}.0"), line), line)

    assert generation(Line.V1_2, "1.4.0") == generation(Line.V1_2, "1.5.0")
    assert generation(Line.V1_5, "1.3.0") == generation(Line.V1_5, "1.4.0")
    assert len({generation(Line.V1_5, version) for version in ("1.4.0", "1.5.0", "1.5.1")}) == 3


def test_a_picker_without_configuration_is_that_of_the_runtime() -> None:
    obj = graph(component("e", "epp", {"image": "frontend:1.5.0"}), vllm())
    made = render(stored(obj, "1.5.0"), Settings(operator_version="1.5.0"))
    assert made.problems == []
    kinds = [child["kind"] for child in made.children]
    assert "ConfigMap" not in kinds
    assert "InferencePool" in kinds
    pod = next(obj for obj in made.children if obj["kind"] == "Deployment" and obj["metadata"]["name"] == "g-e")["spec"]["template"]["spec"]
    main = pod["containers"][0]
    assert main["image"] == "frontend:1.5.0"
    assert "args" not in main
    assert env_of(main)["DYN_EPP_REPLICA_SYNC_PORT"] == "9092"
    assert {"epp-config"}.isdisjoint(entry["name"] for entry in (*pod["volumes"], *main["volumeMounts"]))


def test_a_picker_with_configuration_and_one_of_line_1_2_stay() -> None:
    obj = graph(component("e", "epp", {"image": "epp:1.4.0"}, eppConfig={"configMapRef": {"name": "c"}}))
    then, now = (main_of(_made(obj, version)) for version in ("1.2.0", "1.5.0"))
    assert then == now
    assert "DYN_EPP_REPLICA_SYNC_PORT" not in env_of(now)
    bare = stored(graph(component("e", "epp", {"image": "epp:1.5.0"})))
    assert "must hold config" in str(render(bare, Settings(operator_version="1.2.0")).problems[0])


def test_elastic_expert_parallelism_in_one_pod_starts_ray() -> None:
    args = ("--enable-elastic-ep", "--data-parallel-backend=ray")
    line = main_of(_made(graph(vllm(args=args)), "1.5.0"))
    assert line["command"] == ["/bin/sh", "-c"]
    assert line["args"][0].startswith("{ ray start --head")
    assert line["args"][0].endswith("python3 -m dynamo.vllm --model m --enable-elastic-ep --data-parallel-backend=ray")
    for version, words in (("1.2.0", args), ("1.5.0", args[:1])):
        assert main_of(_made(graph(vllm(args=words)), version))["command"] == ["python3", "-m", "dynamo.vllm"]
