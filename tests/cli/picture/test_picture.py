"""Pictures of graphs: what they show in either version and on either orchestrator, what a change does, and that nothing overlaps."""

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.repository import Repository

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
GROVE = ("--set-fact", "grove=true", "--set-fact", "dra=true")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("facts", [LWS, GROVE])
def test_a_chart_has_a_box_for_each_component_and_who_reaches_whom(command: Command, files: Files, facts: tuple[str, ...]) -> None:
    files(chat=GRAPH)
    ran = command("picture", "chat.yaml", *facts)
    assert (ran.code, ran.err) == (0, "")
    lines = [re.sub(r"-[0-9a-f]{8}(?=<)", "", line.strip()) for line in ran.out.splitlines()]
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


def test_both_versions_are_the_same_picture(command: Command, files: Files) -> None:
    folder = files(chat=GRAPH)
    (folder / "old.yaml").write_text(command("convert", "chat.yaml", "--to", "v1alpha1").out)
    assert command("picture", "old.yaml", *GROVE).out == command("picture", "chat.yaml", *GROVE).out


def test_engines_that_share_gpus_between_pods_are_counted_with_the_memory_service(command: Command, files: Files) -> None:
    files(chat=GRAPH.replace("IntraPod", "InterPod"))
    out = command("picture", "chat.yaml", *GROVE).out
    assert "GPUs shared by the pods of a node<br/>1 standby engine a node" in out
    assert "3 components, 50 pods, 344 GPUs" in out  # two replicas of an engine, a standby and the memory service
    rendered = command("render", "chat.yaml", *GROVE, "-o", "json", "--only", "PodCliqueSet").json
    assert sum(one["spec"]["replicas"] for one in rendered[0]["spec"]["template"]["cliques"] if one["name"].startswith("decode")) == 3


@pytest.mark.parametrize("facts", [LWS, GROVE])
def test_a_change_is_marked(command: Command, files: Files, facts: tuple[str, ...]) -> None:
    folder = files(chat=GRAPH)
    Repository(folder).commit()
    changed = GRAPH.replace("name: frontend\n    type: frontend\n    replicas: 2", "name: frontend\n    type: frontend\n    replicas: 3")
    head, _, tail = changed.partition("  - name: decode")
    files(chat=head + "  - name: planner\n    type: planner\n" + ("  - name: decode" + tail).replace("vllm:1", "vllm:2"))
    marks = dict(re.findall(r"<b>([a-z]+)</b>[^:<]*: ([a-z]+)<", command("picture", ".", "--against", "HEAD", *facts).out))
    assert marks == {"frontend": "scales", "planner": "added", "decode": "restarts", **({} if facts is GROVE else {"prefill": "restarts"})}
    files(chat=GRAPH.partition("  - name: decode")[0])
    assert "<b>decode</b>: removed<br/>" in command("picture", ".", "--against", "HEAD", *facts).out
    (folder / "chat.yaml").write_text("a: b\n")
    gone = command("picture", ".", "--against", "HEAD", *facts)
    assert (gone.code, gone.out.count(": removed<br/>"), "0 components, 0 pods" in gone.out) == (0, 3, True)
    assert "classDef removed" in gone.out


def test_a_component_that_stands_alone_is_drawn(command: Command, files: Files) -> None:
    files(one="apiVersion: nvidia.com/v1beta1\nkind: DynamoComponentDeployment\nmetadata: {name: w}\nspec: {name: work, type: worker}\n")
    out = command("picture", "one.yaml").out
    assert "DynamoComponentDeployment default/w: 1 component, 1 pod, 0 GPUs" in out
    assert "<b>work</b> (worker)<br/>1 replica" in out


def boxes(text: str) -> list[tuple[int, int, int, int]]:
    """The cards: left, top, right, bottom."""
    root = ElementTree.fromstring(text)  # noqa: S314 - our own text
    cards = (one.attrib for one in root.iter(f"{SVG}rect") if one.get("class", "").startswith("card"))
    places = [(int(one["x"]), int(one["y"]), int(one["width"]), int(one["height"])) for one in cards]
    return [(x, y, x + width, y + height) for x, y, width, height in places]


@pytest.mark.parametrize("count", [2, 20])
def test_nothing_overlaps_or_leaves_the_picture(command: Command, files: Files, count: int) -> None:
    types = ("frontend", "worker", "prefill", "decode", "planner", "epp", "")
    components = "".join(
        f"  - {{name: c{number}, replicas: {number * number}, {f'type: {kind}' if (kind := types[number % 7]) else ''}}}\n"
        for number in range(count)
    )
    files(chat=GRAPH.partition("  - name: frontend")[0] + components, other=GRAPH)
    text = command("picture", ".", *GROVE, "-o", "svg").out
    found = boxes(text)
    assert len(found) == count + 3
    for (left, top, right, bottom), (other_left, other_top, other_right, other_bottom) in combinations(found, 2):
        assert right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top
    root = ElementTree.fromstring(text)  # noqa: S314 - our own text
    assert all(
        0 <= x < right <= int(root.attrib["width"]) and 0 <= y < bottom <= int(root.attrib["height"]) for x, y, right, bottom in found
    )
    for one in root.iter(f"{SVG}text"):
        assert any(x <= int(one.attrib["x"]) <= right and y <= int(one.attrib["y"]) <= bottom for x, y, right, bottom in found) or (
            one.get("class") == "name"
        )


@pytest.mark.parametrize("change", ["", "marked"])
def test_each_element_has_its_colour_without_a_style(command: Command, files: Files, change: str) -> None:
    """Viewers such as librsvg, Inkscape or GitHub know neither variables nor media queries, and draw black where a colour is missing."""
    folder = files(chat=GRAPH)
    Repository(folder).commit()
    changed = GRAPH.replace("name: decode", "name: new", 1).replace("vllm:1", "vllm:2").replace("replicas: 2", "replicas: 3", 1)
    files(chat=changed if change else GRAPH)
    root = ElementTree.fromstring(command("picture", ".", *LWS, "-o", "svg", *(["--against", "HEAD"] if change else [])).out)  # noqa: S314 - our own text
    drawn = [one for name in ("rect", "text", "path") for one in root.iter(f"{SVG}{name}")]
    assert len(drawn) > 40
    for one in drawn:
        assert re.fullmatch("#[0-9a-f]{3,6}|none", one.attrib["fill"]), one.attrib
        assert re.fullmatch("#[0-9a-f]{3,6}", one.get("stroke", "#000")), one.attrib
        assert one.attrib["fill"] != "none" or "stroke" in one.attrib
    assert {one.attrib["class"].removeprefix("card-") for one in drawn} >= (
        {"added", "removed", "restarts", "scales"} if change else {"card"}
    )
    style = next(root.iter(f"{SVG}style")).text or ""
    assert "var(" not in style
    dark = dict(re.findall(r"\.([\w-]+)\{([^}]*)\}", style.partition("@media(prefers-color-scheme:dark)")[2]))
    assert dark.keys() >= {one.attrib["class"] for one in drawn}


@pytest.mark.parametrize(
    ("image", "lines"),
    [
        ("vllm:1.5.0", ["vllm:1.5.0"]),
        ("registry.example.com:5000/team/vllm", ["registry.example.com:5000/team/vllm"]),
        ("registry.example.com/nvidia/ai-dynamo/vllm-runtime:1.5.0", ["\u2026nvidia/ai-dynamo/vllm-runtime:1.5.0"]),
        (f"registry.example.com:5000/team/vllm-runtime:0.9-{'abcd' * 10}", [f"\u2026llm-runtime:0.9-{'abcd' * 4}abc", f"d{'abcd' * 5}"]),
        (f"team/vllm-runtime@sha256:{'0123' * 16}", [f"\u2026llm-runtime@sha256:{'0123' * 4}", "0123" * 9, "0123" * 3]),
    ],
)
def test_the_tag_of_an_image_is_whole(command: Command, files: Files, image: str, lines: list[str]) -> None:
    """A change of an image is its tag or digest; the beginning of its repository is what is cut."""
    files(chat=GRAPH.replace("repo/frontend:1", image))
    root = ElementTree.fromstring(command("picture", ".", *LWS, "-o", "svg").out)  # noqa: S314 - our own text
    shown = [one.text for one in root.iter(f"{SVG}text")]
    at = shown.index(lines[0])
    assert shown[at : at + len(lines)] == lines
    version = image[image.rfind("/") :].partition("@" if "@" in image else ":")[2]
    assert version in command("picture", ".", *LWS).out


def test_what_a_manifest_says_is_no_markup_and_costs_no_more_than_it_is_long(command: Command, files: Files) -> None:
    hostile = GRAPH.replace("repo/vllm:1", "</text><script>x</script>]]&'").replace("replicas: 7", "replicas: 2147483647")
    files(chat=hostile.replace('gpu: "8"', 'gpu: "999999999"'))
    drawn = command("picture", "chat.yaml", *LWS, "-o", "svg").out
    assert "<script" not in drawn
    assert len(drawn) < 30_000
    ElementTree.fromstring(drawn)  # noqa: S314 - our own text
    assert "<script" not in command("picture", "chat.yaml", *LWS).out
    many = "".join(f"  - {{name: c{number}}}\n" for number in range(101))
    files(chat=GRAPH.partition("  - name: frontend")[0] + many)
    ran = command("picture", "chat.yaml")
    assert (ran.code, ran.out) == (1, "")
    assert "spec.components: must be at most 100 to be drawn, got 101" in ran.err


def test_what_can_not_be_drawn_is_said_and_the_rest_is_drawn(command: Command, files: Files) -> None:
    files(broken="a: [", wrong=GRAPH.replace("replicas: 2", "replicas: two"), chat=GRAPH.replace("name: chat", "name: fine"))
    ran = command("picture", ".", *LWS)
    assert ran.code == 4
    assert "llm/fine" in ran.out
    assert "llm/chat" not in ran.out
    assert "wrong.yaml:" in ran.err
    assert command("picture", "broken.yaml").code == 4
    files(other="kind: ConfigMap\napiVersion: v1\n")
    assert command("picture", "other.yaml") == (3, "", "no graph found; --allow-empty accepts that\n")
    assert command("picture", "other.yaml", "--allow-empty") == (0, "", "")
