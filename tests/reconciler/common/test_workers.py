"""Figures of line 1.4: in which Dynamo namespace a component's pods register, and how many replicas have nodes."""

from dataclasses import replace
from typing import Any

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.common.resources import COMPONENTS
from dynamo_webhooks.reconciler.common.workers import read_runtime_figures
from tests.reconciler.rendering import component, graph, vllm
from tests.reconciler.site import Site, settings
from tests.rows import run_each

SUFFIX = {"name": "DYN_NAMESPACE_WORKER_SUFFIX", "value": "1a2b"}
PLACED = {"scheduledReplicas": 2}


def _template(*env: Node) -> Node:
    return {"spec": {"containers": [{"name": "side", "env": [{"name": "DYN_NAMESPACE", "value": "other"}]}, {"name": "main", "env": env}]}}


def _namespace(value: str) -> Node:
    return {"name": "DYN_NAMESPACE", "value": value}


@run_each(
    ("env", "namespace"),
    [
        ([_namespace("demo-g")], "demo-g"),
        ([SUFFIX, _namespace("demo-g")], "demo-g-1a2b"),
        ([_namespace("demo-g"), {"name": SUFFIX["name"]}], "demo-g"),
        ([], ""),
        # only the kubelet knows these
        ([_namespace("demo-$(POD_NAME)")], ""),
        ([{"name": "DYN_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, SUFFIX], ""),
    ],
)
def test_the_namespace_is_that_of_the_main_container(env: list[Node], namespace: str) -> None:
    assert read_runtime_figures(Line.V1_4, [_template(*env)], {}) == ({"runtimeNamespace": namespace} if namespace else {})


def test_the_first_pods_that_tell_count() -> None:
    pods = [{"spec": {"containers": []}}, _template(_namespace("demo-g"))]
    assert read_runtime_figures(Line.V1_6, pods, PLACED) == {"runtimeNamespace": "demo-g", **PLACED}


@run_each("line", Line)
@run_each(("kind", "path"), [("DynamoGraphDeployment", "components"), ("DynamoComponentDeployment", "component")])
def test_figures_are_written_as_far_as_the_definition_has_them(kind: str, path: str, line: Line) -> None:
    fields: Any = load_schema(kind, "v1beta1", line)["properties"]["status"]["properties"][path]
    fields = fields.get("additionalProperties", fields)["properties"]
    assert {*read_runtime_figures(line, [_template(_namespace("n"))], PLACED)} == {"runtimeNamespace", "scheduledReplicas"} & {*fields}


@run_each(("version", "written"), [("1.3.0", False), ("1.4.0", True)])
async def test_a_graph_tells_where_its_pods_register(version: str, *, written: bool) -> None:
    config = settings()
    site = Site(replace(config, operator=replace(config.operator, version=version)))
    await site.make(graph(component("fe", "frontend", {"image": "img:1"}, replicas=1), vllm("w")))
    async with site.running():
        await site.rest()
        objects = await site.all(COMPONENTS)
        [worker] = [obj for name, obj in objects.items() if name.startswith("g-w-")]
        generation = worker["metadata"]["labels"]["nvidia.com/dynamo-worker-hash"]
        wanted = {"fe": "demo-g", "w": f"demo-g-{generation}"} if written else {}
        components = (await site.graph())["status"]["components"]
        assert {name: entry["runtimeNamespace"] for name, entry in components.items() if "runtimeNamespace" in entry} == wanted
        assert worker["status"]["component"].get("runtimeNamespace", "") == wanted.get("w", "")
        assert "scheduledReplicas" not in components["w"]  # a Deployment doesn't count them
        assert await site.writes_within(60) == []
