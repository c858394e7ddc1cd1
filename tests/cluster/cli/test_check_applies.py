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
import yaml

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import ALPHA, BETA, KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.cli.objects.manifest import find_manifests
from dynamo_webhooks.cli.validation.levels import ERROR, POLICIES
from dynamo_webhooks.cli.validation.pipeline import ValidationSettings, check_object
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.policies.review import CREATE
from tests.cluster.admission import register, serving
from tests.cluster.conversion import KINDS as CONVERTED
from tests.cluster.definitions import install
from tests.cluster.harness import ADMIN, ControlPlane
from tests.cluster.planes import Planes
from tests.golden.corpus import corpus_file
from tests.golden.upstream import MADE_UP, manifests
from tests.laws.laws import version_of

Node: TypeAlias = dict[str, Any]
GRAPH: Final = "DynamoGraphDeployment"
GRAPHS: Final = 11  # of a version
IMAGE: Final = "registry.example.com/vllm-runtime:1.5.0"


def facts_of_line_1_5() -> Node:
    """The facts of the recorded writes."""
    return {**yaml.safe_load(corpus_file("context-15.yaml").read_text()), "checkpoint": True, "istio": False, "switchedOff": []}


@pytest.fixture(scope="module")
def plane(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server of line 1.5, with our webhooks."""
    with serving(tmp_path_factory.mktemp("serve"), facts_of_line_1_5()) as server, planes.lend() as lent:
        install(lent, *(build(kind.name, conversion=server.stanza() if kind.name in CONVERTED else None, line=Line.V1_5) for kind in KINDS))
        register(lent, server, "line15")
        yield lent


class Parts(NamedTuple):
    """The places of a graph that edits change, whatever its version."""

    version: str
    graph: Node
    spec: Node  # the graph's
    metadata: Node
    part: Node  # the last component
    container: Node  # its main one


def _parts(graph: Node) -> Parts:
    version, spec, metadata = version_of(graph), graph["spec"], graph["metadata"]
    if version == ALPHA:
        part = [*spec["services"].values()][-1]
        return Parts(version, graph, spec, metadata, part, part.setdefault("extraPodSpec", {}).setdefault("mainContainer", {}))
    part = spec["components"][-1]
    containers = part.setdefault("podTemplate", {}).setdefault("spec", {}).setdefault("containers", [])
    main_one = next((container for container in containers if container.get("name") == "main"), None)
    if main_one is None:
        containers.append(main_one := {"name": "main"})
    return Parts(version, graph, spec, metadata, part, main_one)


def _components(at: Parts, change: Callable[[dict[str, Node]], object]) -> None:
    """Changes the components as a map by name."""
    spec, alpha = at.spec, at.version == ALPHA
    named = spec["services"] if alpha else {component.pop("name"): component for component in spec["components"]}
    change(named)
    if not alpha:
        spec["components"] = [{"name": name, **component} for name, component in named.items()]


def _rename(named: dict[str, Node]) -> None:
    name, part = named.popitem()
    named[f"{name}2"] = part


def _adapter(at: Parts) -> None:
    at.part["scalingAdapter"] = {"enabled": True} if at.version == ALPHA else {}


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
    "stale version": lambda at: at.metadata.update(resourceVersion="1"),
    "no version": lambda at: at.metadata.update(resourceVersion=""),
    "another object": lambda at: at.metadata.update(uid="a"),
    "unknown status": lambda at: at.graph.update(status={"stat": "pending"}),
    "status a text": lambda at: at.graph.update(status={"state": 5}),
    "status": lambda at: at.graph.update(status={"state": "pending"}),
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
    "variable twice": lambda at: at.container.update(env=[{"name": "LOG", "value": value} for value in ("a", "b")]),
    "component twice": lambda at: at.version == BETA and at.spec["components"].append(copy.deepcopy(at.part)),
    "framework null": lambda at: at.spec.update(backendFramework=None),
    "restart null": lambda at: at.spec.update(restart=None),
    "restart without an id": lambda at: at.spec.update(restart={"id": None}),
    "image null": lambda at: at.container.update(image=None),
    "variables null": lambda at: at.container.update(env=None),
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
    settings, seen = ValidationSettings(facts_from(facts_of_line_1_5())), set(MADE_UP)
    for name, graph in manifests({GRAPH}, (("convert15.ndjson.gz", "convert"),)):
        if version_of(graph) != version or name in seen or set(name) <= {"x"}:
            continue
        made = json.loads(re.sub(r'"image": "[^"]*"', f'"image": "{IMAGE}"', json.dumps(graph)))
        [manifest] = find_manifests(load_documents(json.dumps(made)))
        if all(finding.level != ERROR for finding in check_object(manifest, CREATE, None, settings).findings):
            seen.add(name)
            yield made


def _written(folder: Path, graphs: list[Node]) -> str:
    """A folder with a file for each graph."""
    folder.mkdir()
    for graph in graphs:
        (folder / f"{graph['metadata']['name']}.json").write_text(json.dumps(graph))
    return str(folder)


@pytest.mark.parametrize("version", [ALPHA, BETA])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_edits_are_judged_as_a_dry_run_judges_them(plane: ControlPlane, tmp_path: Path, way: str, version: str, turn: int) -> None:
    """In each turn an edit meets another graph: two turns are 608 edits."""
    ways, namespace = WAYS[way], plane.namespace()
    metadata = {"namespace": namespace, **({"annotations": {"example.com/owner": "b"}} if ways.annotated else {})}
    placed = zip(EDITS, islice(cycle(_graphs(version)), 5 * turn, None), strict=False)
    graphs = {edit: {**graph, "metadata": {"name": f"e{number}", **metadata}} for number, (edit, graph) in enumerate(placed)}
    held = plane.kubectl(*ways.store, "-o", "name", "-f", _written(tmp_path / "before", [*graphs.values()]))
    stored = {line.rpartition("/")[2] for line in held.stdout.split()}
    assert len(stored) > len(graphs) * 4 / 5, held.stderr
    edits = {graph["metadata"]["name"]: edit for edit, graph in graphs.items() if graph["metadata"]["name"] in stored}
    edited = {edit: copy.deepcopy(graphs[edit]) for edit in edits.values()}
    for edit, graph in edited.items():
        EDITS[edit](_parts(graph))
    folder = _written(tmp_path / "after", [*edited.values()])
    (tmp_path / "facts.yaml").write_text(json.dumps(facts_of_line_1_5()))

    tried = plane.kubectl(*ways.apply, "--dry-run=server", "-o", "name", "-f", folder)
    theirs = {line.rpartition("/")[2] for line in tried.stdout.split()}
    report = tmp_path / "report.json"
    flags = ("--cluster", "--kubeconfig", str(plane.kubeconfig), "--context", ADMIN, "-n", namespace)
    code = main(["check", folder, *flags, "--facts", str(tmp_path / "facts.yaml"), "--answer", "-q", "-o", f"json={report}"])
    assert code in (0, 1)
    read = json.loads(report.read_text())
    assert {row["operation"] for row in read["answers"]} == {"UPDATE"}
    wrong = []
    for answer in read["answers"]:
        name, accepted = answer["object"]["name"], answer["object"]["name"] in theirs
        errors = [finding["message"] for finding in read["findings"] if finding["object"]["name"] == name and finding["level"] == "error"]
        denied = answer["stage"] != POLICIES or accepted or answer["message"].partition(DENIED)[2] in tried.stderr
        if (answer["accepted"], not errors, denied) != (accepted, accepted, True):
            wrong.append(f"{edits[name]} ({name}): kubectl {'accepts' if accepted else 'refuses'}, check: {answer['message']} {errors}")
    assert not wrong, f"{len(wrong)} of {len(edits)} differ:\n" + "\n".join(wrong)
    assert 0 < len(theirs) < len(edits)
