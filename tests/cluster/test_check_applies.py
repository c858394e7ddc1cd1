"""`check FILES --cluster` and `kubectl apply --dry-run=server` agree: the same edits of upstream's graphs are accepted or refused.

One kubectl call stores all graphs of a way to apply, another one applies all edits.
"""

import copy
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.cli.objects.manifest import find_manifests
from dynamo_webhooks.cli.validation.levels import ERROR, POLICIES
from dynamo_webhooks.cli.validation.pipeline import Settings, check_object
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.policies.review import CREATE
from tests.cluster.harness import ADMIN, ControlPlane
from tests.cluster.test_line15 import facts_of_line_1_5
from tests.cluster.test_line15 import plane as plane  # noqa: PLC0414 - a fixture, of this module's own
from tests.golden.upstream import MADE_UP, manifests, version_of

Node: TypeAlias = dict[str, Any]
GRAPH: Final = "DynamoGraphDeployment"
GRAPHS: Final = 11  # of a version
IMAGE: Final = "registry.example.com/vllm-runtime:1.5.0"


class Parts(NamedTuple):
    """The places of a graph that edits change, whatever its version."""

    graph: Node
    part: Node  # the last component
    container: Node  # its main one

    @property
    def spec(self) -> Node:
        """The graph's."""
        found: Node = self.graph["spec"]
        return found

    @property
    def metadata(self) -> Node:
        """The graph's."""
        found: Node = self.graph["metadata"]
        return found


def _parts(graph: Node) -> Parts:
    if version_of(graph) == ALPHA:
        part = [*graph["spec"]["services"].values()][-1]
        return Parts(graph, part, part.setdefault("extraPodSpec", {}).setdefault("mainContainer", {}))
    part = graph["spec"]["components"][-1]
    containers = part.setdefault("podTemplate", {}).setdefault("spec", {}).setdefault("containers", [])
    main_one = next((one for one in containers if one.get("name") == "main"), None)
    if main_one is None:
        containers.append(main_one := {"name": "main"})
    return Parts(graph, part, main_one)


def _components(at: Parts, change: Callable[[dict[str, Node]], object]) -> None:
    """Changes the components as a map by name."""
    spec, alpha = at.spec, version_of(at.graph) == ALPHA
    named = spec["services"] if alpha else {one.pop("name"): one for one in spec["components"]}
    change(named)
    if not alpha:
        spec["components"] = [{"name": name, **one} for name, one in named.items()]


def _rename(named: dict[str, Node]) -> None:
    name, part = named.popitem()
    named[f"{name}2"] = part


def _adapter(at: Parts) -> None:
    at.part["scalingAdapter"] = {"enabled": True} if version_of(at.graph) == ALPHA else {}


EDITS: Final[dict[str, Callable[[Parts], Any]]] = {
    "nothing": lambda at: None,
    "replicas": lambda at: at.part.update(replicas=(at.part.get("replicas") or 1) + 1),
    "no replicas": lambda at: at.part.pop("replicas", 0),
    "replicas null": lambda at: at.part.update(replicas=None),
    "replicas negative": lambda at: at.part.update(replicas=-1),
    "replicas a text": lambda at: at.part.update(replicas="2"),
    "unknown field": lambda at: at.part.update(replica=1),
    "image": lambda at: at.container.update(image=IMAGE),
    "no image": lambda at: at.container.pop("image", ""),
    "env": lambda at: at.container.setdefault("env", []).append({"name": "LOG", "value": "debug"}),
    "no env": lambda at: at.container.pop("env", 0),
    "arguments": lambda at: at.container.update(args=["--model", "x"]),
    "label": lambda at: at.metadata.setdefault("labels", {}).update(team="a"),
    "annotation": lambda at: at.metadata.setdefault("annotations", {}).update({"example.com/team": "a"}),
    "no annotations": lambda at: at.metadata.pop("annotations", 0),
    "another framework": lambda at: at.spec.update(backendFramework="trtllm" if at.spec.get("backendFramework") != "trtllm" else "sglang"),
    "no framework": lambda at: at.spec.pop("backendFramework", 0),
    "restart": lambda at: at.spec.update(restart={"id": "1"}),
    "nodes": lambda at: at.part.update(multinode={"nodeCount": 4}),
    "no nodes": lambda at: at.part.pop("multinode", 0),
    "adapter": _adapter,
    "added component": lambda at: _components(at, lambda named: named.update(extra=copy.deepcopy([*named.values()][-1]))),
    "removed component": lambda at: _components(at, lambda named: named.popitem()),
    "renamed component": lambda at: _components(at, _rename),
    "components turned round": lambda at: _components(at, lambda named: named.update([named.popitem() for _ in range(len(named))])),
}
DENIED: Final = " denied the request: "  # before it the name of the webhook, which is another one here
SERVER_SIDE: Final = ("--server-side", "--force-conflicts")


class Way(NamedTuple):
    """How graphs came into the cluster, and how their files are applied."""

    store: tuple[str, ...]
    apply: tuple[str, ...]
    annotated: bool = False  # whether files have annotations


WAYS: Final = {
    "client-side": Way(("apply",), ("apply",)),
    "client-side, with annotations": Way(("apply",), ("apply",), annotated=True),
    "created before": Way(("create",), ("apply",)),
    "server-side": Way(("apply", *SERVER_SIDE), ("apply", *SERVER_SIDE)),
}


@cache
def _graphs(version: str) -> list[Node]:
    """Some of them, each edited in two ways or three."""
    return [*islice(_accepted(version), GRAPHS)]


def _accepted(version: str) -> Iterator[Node]:
    """Upstream's graphs of a version, one of each name that a cluster accepts once its images have versions."""
    settings, seen = Settings(facts_from(facts_of_line_1_5())), set(MADE_UP)
    for name, graph in manifests({GRAPH}, (("convert15.ndjson.gz", "convert"),)):
        if version_of(graph) != version or name in seen or set(name) <= {"x"}:
            continue
        made = json.loads(re.sub(r'"image": "[^"]*"', f'"image": "{IMAGE}"', json.dumps(graph)))
        [found] = find_manifests(load_documents(json.dumps(made)))
        if all(one.level != ERROR for one in check_object(found, CREATE, None, settings).findings):
            seen.add(name)
            yield made


def _placed(graph: Node, way: Way, namespace: str, number: int) -> Node:
    annotations = {"annotations": {"example.com/owner": "b"}} if way.annotated else {}
    return {**copy.deepcopy(graph), "metadata": {"name": f"e{number}", "namespace": namespace, **annotations}}


def _edited(graph: Node, edit: str) -> Node:
    made = copy.deepcopy(graph)
    EDITS[edit](_parts(made))
    return made


def _written(folder: Path, graphs: list[Node]) -> str:
    """A folder with a file for each graph."""
    folder.mkdir()
    for graph in graphs:
        (folder / f"{graph['metadata']['name']}.json").write_text(json.dumps(graph))
    return str(folder)


@pytest.mark.parametrize("version", [ALPHA, BETA])
@pytest.mark.parametrize("way", WAYS)
def test_edits_are_judged_as_a_dry_run_judges_them(plane: ControlPlane, tmp_path: Path, way: str, version: str) -> None:
    ways, namespace = WAYS[way], plane.namespace()
    graphs = [
        _placed(graph, ways, namespace, number) for number, (graph, _) in enumerate(zip(cycle(_graphs(version)), EDITS, strict=False))
    ]
    held = plane.kubectl(*ways.store, "-o", "name", "-f", _written(tmp_path / "before", graphs))
    stored = {line.rpartition("/")[2] for line in held.stdout.split()}
    assert len(stored) > len(graphs) * 4 / 5, held.stderr
    edits = {graph["metadata"]["name"]: edit for graph, edit in zip(graphs, EDITS, strict=True) if graph["metadata"]["name"] in stored}
    folder = _written(tmp_path / "after", [_edited(graph, edits[name]) for graph in graphs if (name := graph["metadata"]["name"]) in edits])
    (tmp_path / "facts.yaml").write_text(json.dumps(facts_of_line_1_5()))

    tried = plane.kubectl(*ways.apply, "--dry-run=server", "-o", "name", "-f", folder)
    theirs = {line.rpartition("/")[2] for line in tried.stdout.split()}
    report = tmp_path / "report.json"
    flags = (
        "--cluster",
        "--kubeconfig",
        str(plane.kubeconfig),
        "--context",
        ADMIN,
        "-n",
        namespace,
        "--facts",
        str(tmp_path / "facts.yaml"),
    )
    code = main(["check", folder, *flags, "--answer", "-q", "-o", f"json={report}"])
    assert code in (0, 1)
    read = json.loads(report.read_text())
    answers = {one["object"]["name"]: one for one in read["answers"]}
    findings = {
        name: [one["message"] for one in read["findings"] if one["object"]["name"] == name and one["level"] == "error"] for name in edits
    }
    assert {one["operation"] for one in answers.values()} == {"UPDATE"}
    wrong = [
        f"{edits[name]} ({name}): kubectl {'accepts' if name in theirs else 'refuses'}, check: {answer['message']} {findings[name]}"
        for name, answer in answers.items()
        if (answer["accepted"], not findings[name]) != (name in theirs, name in theirs)
    ]
    wrong += [
        f"{edits[name]} ({name}): {answer['message']}"
        for name, answer in answers.items()
        if answer["stage"] == POLICIES and name not in theirs and answer["message"].partition(DENIED)[2] not in tried.stderr
    ]
    assert not wrong, f"{len(wrong)} of {len(edits)} differ:\n" + "\n".join(wrong)
    assert 0 < len(theirs) < len(edits)
