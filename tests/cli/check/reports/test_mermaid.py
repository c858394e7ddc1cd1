"""Charts of graphs in the Markdown report: what they show in either version and on either orchestrator, and what a change does."""

import re
from collections.abc import Callable

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.repository import Repository
from tests.rows import run_each

GRAPH = """apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: chat, namespace: llm}
spec:
  backendFramework: vllm
  components:
  - name: frontend
    type: frontend
    replicas: 2
    podTemplate: {spec: {containers: [{name: main, image: "repo/frontend:1"}]}}
  - name: prefill
    type: prefill
    replicas: 7
    multinode: {nodeCount: 6}
    scalingAdapter: {}
    podTemplate: &vllm
      spec:
        containers: [{name: main, image: "repo/vllm:1", command: [python3, -m, dynamo.vllm], resources: {limits: {nvidia.com/gpu: "8"}}}]
  - name: decode
    type: decode
    replicas: 2
    experimental: {gpuMemoryService: {mode: IntraPod}, failover: {mode: IntraPod}}
    podTemplate:
      spec:
        volumes: [{name: models, persistentVolumeClaim: {claimName: models}}]
        containers: [{name: main, image: "repo/vllm:1", command: [python3, -m, dynamo.vllm], resources: {limits: {nvidia.com/gpu: "4"}}}]
"""
LWS = ("--set-fact", "lws=true", "--set-fact", "grove=false", "--set-fact", "dra=true")
Charts = Callable[..., str]
GROVE = ("--set-fact", "grove=true", "--set-fact", "dra=true")


@pytest.fixture
def charts(command: Command) -> Charts:
    """What `check` draws with the given words."""

    def draw(*words: str) -> str:
        report = command("check", "-o", "markdown", *words).out
        return "".join(re.findall("```mermaid\n(.*?)```", report, re.DOTALL))

    return draw


@pytest.mark.parametrize("facts", [LWS, GROVE])
def test_a_chart_has_a_box_for_each_component_and_who_reaches_whom(charts: Charts, files: Files, facts: tuple[str, ...]) -> None:
    files(chat=GRAPH)
    lines = [re.sub(r"-[0-9a-f]{8}(?=<)", "", line.strip()) for line in charts("chat.yaml", *facts).splitlines()]
    assert lines == [
        "flowchart LR",
        'subgraph g0["DynamoGraphDeployment llm/chat: 3 components, 46 pods, 344 GPUs"]',
        'g0c0["<b>frontend</b><br/>2 replicas<br/>Service chat-frontend<br/>repo/frontend:1"]',
        'g0c1["<b>prefill</b><br/>7 replicas of 6 nodes, 336 GPUs<br/>scaling adapter<br/>Service chat-prefill<br/>repo/vllm:1"]',
        'g0c2["<b>decode</b><br/>2 replicas, 8 GPUs<br/>GPUs shared in the pod<br/>1 standby engine a pod<br/>Service chat-decode<br/>'
        'repo/vllm:1"]',
        'g0v0[("models")]',
        "end",
        "g0c0 --> g0c1",
        "g0c0 --> g0c2",
        'g0c1 -- "KV cache" --> g0c2',
        "g0c2 -.- g0v0",
    ]


def test_both_versions_are_the_same_chart(command: Command, charts: Charts, files: Files) -> None:
    folder = files(chat=GRAPH)
    (folder / "old.yaml").write_text(command("convert", "chat.yaml", "--to", "v1alpha1").out)
    assert charts("old.yaml", *GROVE) == charts("chat.yaml", *GROVE)


def test_engines_that_share_gpus_between_pods_are_counted_with_the_memory_service(command: Command, charts: Charts, files: Files) -> None:
    files(chat=GRAPH.replace("IntraPod", "InterPod"))
    out = charts("chat.yaml", *GROVE)
    assert "GPUs shared by the pods of a node<br/>1 standby engine a node" in out
    assert "3 components, 50 pods, 344 GPUs" in out  # two replicas of an engine, a standby and the memory service
    rendered = command("render", "chat.yaml", *GROVE, "-o", "json", "--only", "PodCliqueSet").json
    assert sum(one["spec"]["replicas"] for one in rendered[0]["spec"]["template"]["cliques"] if one["name"].startswith("decode")) == 3


@pytest.mark.parametrize("facts", [LWS, GROVE])
def test_a_change_is_marked(charts: Charts, files: Files, facts: tuple[str, ...]) -> None:
    folder = files(chat=GRAPH)
    Repository(folder).commit()
    changed = GRAPH.replace("name: frontend\n    type: frontend\n    replicas: 2", "name: frontend\n    type: frontend\n    replicas: 3")
    head, _, tail = changed.partition("  - name: decode")
    files(chat=head + "  - name: planner\n    type: planner\n" + ("  - name: decode" + tail).replace("vllm:1", "vllm:2"))
    marks = dict(re.findall(r"<b>([a-z]+)</b>[^:<]*: ([a-z]+)<", charts(".", "--against", "HEAD", *facts)))
    assert marks == {"frontend": "scales", "planner": "added", "decode": "restarts", **({} if facts is GROVE else {"prefill": "restarts"})}
    files(chat=GRAPH.partition("  - name: decode")[0])
    assert "<b>decode</b>: removed<br/>" in charts(".", "--against", "HEAD", *facts)
    (folder / "chat.yaml").write_text("a: b\n")
    gone = charts(".", "--against", "HEAD", *facts)
    assert (gone.count(": removed<br/>"), "0 components, 0 pods" in gone, "classDef removed" in gone) == (3, True, True)


def test_a_component_that_stands_alone_is_drawn(charts: Charts, files: Files) -> None:
    files(one="apiVersion: nvidia.com/v1beta1\nkind: DynamoComponentDeployment\nmetadata: {name: w}\nspec: {name: work, type: worker}\n")
    out = charts("one.yaml")
    assert "DynamoComponentDeployment default/w: 1 component, 1 pod, 0 GPUs" in out
    assert "<b>work</b> (worker)<br/>1 replica" in out


@run_each(
    ("image", "shown"),
    [
        ("registry.example.com:5000/team/vllm", "registry.example.com:5000/team/vllm"),
        ("registry.example.com/nvidia/ai-dynamo/vllm-runtime:1.5.0", "registry.example.com/nvidia/ai-dynamo/vllm-runtime:1.5.0"),
        (f"registry.example.com:5000/{'team/' * 8}vllm-runtime", f"#8230;m:5000/{'team/' * 8}vllm-runtime"),
        (f"registry.example.com:5000/team/vllm-runtime:0.9-{'abcd' * 10}", f"#8230;m/vllm-runtime:0.9-{'abcd' * 10}"),
        (f"team/vllm-runtime@sha256:{'0123' * 16}", f"#8230;llm-runtime#64;sha256:{'0123' * 16}"),
    ],
)
def test_the_tag_of_an_image_is_whole(charts: Charts, files: Files, image: str, shown: str) -> None:
    """A change of an image is its tag or digest; the beginning of its repository is what is cut."""
    files(chat=GRAPH.replace("repo/frontend:1", image))
    assert f'<br/>{shown}"]' in charts("chat.yaml", *LWS)


def test_what_a_manifest_says_is_no_markup_and_costs_no_more_than_it_is_long(charts: Charts, files: Files) -> None:
    hostile = GRAPH.replace("repo/vllm:1", "</text><script>x</script>]]&'").replace("replicas: 7", "replicas: 2147483647")
    files(chat=hostile.replace('gpu: "8"', 'gpu: "999999999"'))
    drawn = charts("chat.yaml", *LWS)
    assert "#60;script" in drawn
    assert "<script" not in drawn
    assert len(drawn) < 3_000


def test_more_components_than_a_chart_holds_are_not_drawn(command: Command, files: Files) -> None:
    many = "".join(f"  - {{name: c{number}}}\n" for number in range(101))
    files(chat=GRAPH.partition("  - name: frontend")[0] + many)
    report = command("check", "-o", "markdown", "chat.yaml").out
    assert "spec.components: must be at most 100 to be drawn, got 101" in report
    assert "mermaid" not in report
