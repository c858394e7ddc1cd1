"""`render --against`: which pods restart since a revision of git, and why."""

import json
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.cli.commands.render.pods import PodRestart, find_restarts, format_restarts
from dynamo_webhooks.cli.commands.render.run import RenderedChild
from tests.cli.conftest import Command, Files
from tests.cli.repository import Repository
from tests.reconciler.rendering import component, graph, rendered, vllm

Fields = dict[str, Any]
BEFORE = graph(vllm("w", replicas=3), component("fe", "frontend", {"image": "fe:1"}))


def _changes(after: Fields, before: Fields = BEFORE) -> list[PodRestart]:
    return find_restarts(*_children(rendered(before).children, rendered(after).children))


def _children(*sides: list[Fields]) -> list[list[RenderedChild]]:
    return [[RenderedChild("", child) for child in side] for side in sides]


def test_nothing_restarts_when_nothing_changes() -> None:
    assert _changes(BEFORE) == []
    assert format_restarts([]) == "no pod restarts\n"


def test_values_of_variables_are_not_shown() -> None:
    one, two, three = ([{"name": "TOKEN", "value": value}] for value in ("hidden-1", "hidden-2", ""))
    before = graph(component("fe", "frontend", {"env": one}))
    text = format_restarts(_changes(graph(component("fe", "frontend", {"env": two})), before))
    assert "template.spec.containers[main].env[TOKEN].value: changes" in text
    assert "hidden" not in text
    assert "hidden" not in format_restarts(
        _changes(graph(component("fe", "frontend", {"env": [*three, {"name": "NEW", "value": "hidden"}]})), before)
    )


def test_replicas_scale_without_a_restart() -> None:
    restarts = _changes(graph(vllm("w", replicas=5), component("fe", "frontend", {"image": "fe:1"})))
    assert restarts == [PodRestart("Deployment", "demo", "g-w", 3, "scale", ["to 5, without a restart"])]


def test_workers_share_a_generation() -> None:
    before = graph(vllm("a"), vllm("b"))
    restarts = _changes(graph(vllm("a", gpus="2"), vllm("b")), before)
    assert [(restart.name, restart.what) for restart in restarts] == [("g-a", "restart"), ("g-b", "restart")]
    assert "new generation" in restarts[1].reasons[0]


def test_what_comes_and_goes_is_told() -> None:
    restarts = _changes(graph(component("fe", "frontend", {"image": "fe:1"}), component("p", "planner")), BEFORE)
    assert [(restart.name, restart.what, restart.pods) for restart in restarts] == [("g-p", "start", 1), ("g-w", "stop", 3)]


def test_orchestrators_of_several_nodes_are_compared_by_their_own_templates() -> None:
    def set_of(image: str) -> Fields:
        pod = {"spec": {"containers": [{"name": "main", "image": image}]}}
        inner = {"size": 2, "leaderTemplate": pod, "workerTemplate": pod}
        head = {"namespace": "demo", "name": "s"}
        return {"kind": "LeaderWorkerSet", "metadata": head, "spec": {"replicas": 2, "leaderWorkerTemplate": inner}}

    def clique_of(image: str) -> Fields:
        clique = {"name": "c", "labels": {}, "spec": {"replicas": 3, "podSpec": {"containers": [{"name": "main", "image": image}]}}}
        return {"kind": "PodCliqueSet", "metadata": {"namespace": "demo", "name": "p"}, "spec": {"template": {"cliques": [clique]}}}

    restarts = find_restarts(*_children([set_of("a"), clique_of("a")], [set_of("b"), clique_of("b")]))
    assert [(row.kind, row.pods, row.what) for row in restarts] == [("LeaderWorkerSet", 4, "restart"), ("PodCliqueSet", 3, "restart")]
    assert restarts[0].reasons == [f'{role}.spec.containers[main].image: "a" becomes "b"' for role in ("leaderTemplate", "workerTemplate")]
    assert restarts[1].reasons == ['cliques[c].spec.containers[main].image: "a" becomes "b"']


def test_many_reasons_are_cut() -> None:
    text = format_restarts([PodRestart("Deployment", "d", "n", 2, "restart", [str(number) for number in range(30)])])
    assert text.count("\n") == 22
    assert text.endswith("  and 10 more\n")


@pytest.mark.parametrize(("first", "second"), [("/a", "/c"), ("/c", "/b")])
def test_each_mount_of_one_volume_is_compared(first: str, second: str) -> None:
    def mounts(*paths: str) -> Fields:
        main = {"image": "fe:1", "volumeMounts": [{"name": "v", "mountPath": path} for path in paths]}
        return graph(component("fe", "frontend", main))

    assert [restart.what for restart in _changes(mounts(first, second), mounts("/a", "/b"))] == ["restart"]


@pytest.fixture
def repository(files: Files) -> Path:
    """A repository whose only commit has a graph, and a second file that is gone today."""
    folder = files(deploy__g=json.dumps(BEFORE), deploy__old=json.dumps(graph(component("fe", "frontend"), name="old")))
    Repository(folder).commit()
    (folder / "deploy" / "old.yaml").unlink()
    return folder


@pytest.mark.parametrize(("changed", "gone"), [("dev", ""), ("prod", ""), ("dev", "prod"), ("prod", "dev")])
def test_graphs_of_one_name_are_told_apart_by_file(command: Command, files: Files, changed: str, gone: str) -> None:
    """Overlays of one graph: the file that comes last must not hide the others."""
    old, new = (json.dumps(graph(component("fe", "frontend", {"image": f"fe:{tag}"}))) for tag in (1, 2))
    folder = files(deploy__dev__g=old, deploy__prod__g=old)
    Repository(folder).commit()
    (folder / "deploy" / changed / "g.yaml").write_text(new)
    if gone:
        (folder / "deploy" / gone / "g.yaml").unlink()
    expected = {f"deploy/{changed}/g.yaml": "restart", **({f"deploy/{gone}/g.yaml": "stop"} if gone else {})}
    ran = command("render", "-q", "--against", "HEAD", "-o", "json", "deploy")
    assert {restart["file"]: restart["what"] for restart in ran.json} == expected
    assert f"Deployment demo/g-fe (deploy/{changed}/g.yaml): 1 pod restarts\n" in command("render", "-q", "--against", "HEAD", "deploy").out
    differing = [line.partition("  ")[2] for line in command("diff", "HEAD:deploy", "deploy").out.splitlines() if line.startswith("Dynamo")]
    pair = f"HEAD:deploy/{changed}/g.yaml:1 -> deploy/{changed}/g.yaml:1"
    assert sorted(differing) == sorted([pair, *([f"only in HEAD:deploy/{gone}/g.yaml:1"] if gone else [])])


@pytest.mark.parametrize("strategy", [{"type": "Sequential", "order": ["w", "fe"]}, {}])
@pytest.mark.parametrize("grove", ["true", "false"])
def test_a_sequential_restart_is_of_all_components_in_its_order(command: Command, files: Files, strategy: Fields, grove: str) -> None:
    spec = BEFORE["spec"] | {"restart": {"id": "2", **({"strategy": strategy} if strategy else {})}}
    Repository(files(g=json.dumps(BEFORE))).commit()
    files(g=json.dumps(BEFORE | {"spec": spec}))
    words = ("--against", "HEAD", "g.yaml", "--set-fact", f"grove={grove}")
    shown = command("render", "-q", *words).out
    places = [shown.index(f"cliques[{name}]." if grove == "true" else f"demo/g-{name} ") for name in strategy.get("order", ("fe", "w"))]
    assert places == sorted(places)


def test_a_graph_that_moved_to_another_file_is_the_same_one(command: Command, files: Files, repository: Path) -> None:
    (repository / "deploy" / "g.yaml").rename(repository / "deploy" / "moved.yaml")
    assert [restart["name"] for restart in command("render", "-q", "--against", "main", "-o", "json", "deploy").json] == ["old-fe"]


def test_files_are_compared_with_a_revision(command: Command, files: Files, repository: Path) -> None:
    files(deploy__g=json.dumps(graph(vllm("w", replicas=3), component("fe", "frontend", {"image": "fe:2"}))))
    ran = command("render", "-q", "--against", "main", "deploy")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        'Deployment demo/g-fe (deploy/g.yaml): 1 pod restarts\n  template.spec.containers[main].image: "fe:1" becomes "fe:2"\n'
        "Deployment demo/old-fe (deploy/old.yaml): 1 pod stops\n  it is no longer rendered\n"
    )
    assert "old-fe" not in command("render", "-q", "--against", "main", "--exclude", "old.yaml", "deploy").out
    only = command("render", "-q", "--against", "HEAD", "-o", "json", "deploy/g.yaml")
    assert [(restart["name"], restart["what"]) for restart in only.json] == [("g-fe", "restart")]


def test_what_could_not_be_rendered_is_not_said_to_keep_its_pods(command: Command, files: Files, repository: Path) -> None:
    worker = vllm("w", main={"command": ["sh"], "args": []}, experimental={"failover": {"mode": "IntraPod"}})
    files(deploy__new=json.dumps(graph(worker, name="new")))
    ran = command("render", "-q", "--against", "main", "deploy/new.yaml")
    assert (ran.code, ran.out) == (1, "no pod restarts, of those that can be rendered\n")


@pytest.mark.parametrize("revision", ["no-such", "--output=x", ""])
def test_an_unknown_revision_is_wrong_usage(command: Command, repository: Path, revision: str) -> None:
    ran = command("render", "-q", f"--against={revision}", "deploy")
    assert ran.code == 2
    assert "--against" in ran.err


def test_a_comparison_writes_no_files(command: Command, repository: Path) -> None:
    assert command("render", "-q", "--against", "main", "-d", "out", "deploy").code == 2


def test_outside_of_a_repository_there_is_nothing_to_compare_with(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(g=json.dumps(BEFORE))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    ran = command("render", "-q", "--against", "main", "g.yaml")
    assert ran.code == 2
    assert "is in no repository of git" in ran.err
