"""`check --cluster` on an API server in memory: what is listed, what it is called, and what happens when somebody says no."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import dynamo_webhooks.kube.client
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.cli.check.cluster import Sight, see
from dynamo_webhooks.cli.yaml.load import InputError, Source, load
from dynamo_webhooks.kube.errors import ForbiddenError, InvalidError, NotServedError, UnavailableError
from dynamo_webhooks.kube.resources import of_kind
from dynamo_webhooks.policies.facts import UNKNOWN, Facts
from tests.cli.conftest import Command, Files
from tests.cli.objects import BAD, BAD_RULE, GOOD, MODEL, NEEDS_GROVE
from tests.kube.memory import MemoryCluster

SERVED: Final = {"nvidia.com": frozenset({"v1alpha1", "v1beta1"}), "grove.io": frozenset({"v1alpha1"})}


def cluster(*texts: str, served: dict[str, frozenset[str]] = SERVED) -> MemoryCluster:
    """A cluster that holds objects."""
    made = MemoryCluster(served=served)

    async def fill() -> None:
        for text in texts:
            obj = yaml.safe_load(text)
            await made.create(of_kind(obj["kind"], obj["apiVersion"].partition("/")[2]), obj, obj["metadata"]["namespace"])

    asyncio.run(fill())
    return made


def _see(made: MemoryCluster, namespace: str = "") -> Sight:
    made.writes.clear()
    sight = asyncio.run(see(made, namespace))
    assert made.writes == []
    return sight


def _named(sight: Sight) -> list[str]:
    return [one.name for one in sight.files]


def test_every_object_is_a_text_with_its_own_name() -> None:
    made = cluster(MODEL, BAD, GOOD, BAD.replace("llm", "a"))
    sight = _see(made)
    assert _named(sight) == [
        "cluster:dynamographdeployments/a/bad",
        "cluster:dynamographdeployments/llm/bad",
        "cluster:dynamographdeployments/llm/good",
        "cluster:dynamomodels/llm/m",
    ]
    first = sight.files[1]
    assert isinstance(first, Source)
    [document] = load(first.text)
    assert document.data["spec"] == yaml.safe_load(BAD)["spec"]
    assert list(document.data)[:3] == ["apiVersion", "kind", "metadata"]
    assert "managedFields" not in document.data["metadata"]
    assert "uid" in document.data["metadata"]
    assert _named(_see(made, "a")) == ["cluster:dynamographdeployments/a/bad"]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_a_version_that_is_served_is_asked_for(version: str) -> None:
    made = cluster(GOOD, served={"nvidia.com": frozenset({version})})
    [one] = _see(made).files
    assert isinstance(one, Source)
    assert load(one.text)[0].data["apiVersion"] == f"nvidia.com/{version}"


def test_a_cluster_without_our_kinds_holds_nothing() -> None:
    assert _see(MemoryCluster()).files == []
    made = cluster(GOOD)

    def absent(verb: str, resource: Any, *_: str) -> Exception | None:
        return NotServedError(404, "", "no such kind") if resource and resource.plural in {kind.plural for kind in KINDS} else None

    made.fail(absent)
    assert _see(made) == Sight([], _see(made).facts)


def test_a_kind_that_may_not_be_listed_is_unreadable_and_the_others_are_seen() -> None:
    made = cluster(GOOD, MODEL)
    made.denied.add(("list", "dynamographdeployments"))
    sight = _see(made)
    error, model = sight.files
    assert isinstance(error, InputError)
    assert str(error).startswith("cluster:dynamographdeployments: can't be listed: dynamographdeployments")
    assert model.name == "cluster:dynamomodels/llm/m"
    assert sight.unreachable == ""


def test_a_conversion_that_fails_is_no_lost_cluster() -> None:
    made = cluster(GOOD)
    broken = UnavailableError(500, "InternalError", "conversion webhook failed")
    made.fail(lambda verb, resource, *_: broken if resource and resource.plural == "dynamographdeployments" else None)
    [error] = _see(made).files
    assert str(error) == "cluster:dynamographdeployments: can't be listed: conversion webhook failed"


@pytest.mark.parametrize("verb", ["groups", "list"])
def test_a_cluster_that_does_not_answer_is_unreachable(verb: str) -> None:
    made = cluster(GOOD)
    made.fail(lambda called, *_: UnavailableError(0, "", "nobody there") if called == verb else None)
    assert _see(made) == Sight([], {}, "the cluster can't be asked: nobody there")


def test_unknown_facts_come_from_the_cluster_and_known_ones_stay() -> None:
    sight = _see(cluster(GOOD))
    filled = sight.fill(Facts(lws=True))
    assert (filled.grove, filled.lws, filled.istio) == (True, True, False)
    assert filled.operatorScope is UNKNOWN  # no operator is installed there
    assert sight._replace(facts={}).fill(Facts()) == Facts()


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, ...]]]:
    """Makes the command find a cluster; returns what it was asked to connect to."""
    asked: list[tuple[str, ...]] = []

    def use(made: MemoryCluster) -> list[tuple[str, ...]]:
        async def connect(*words: str) -> MemoryCluster:
            asked.append(words)
            return made

        monkeypatch.setattr(dynamo_webhooks.kube.client, "connect", connect)
        return asked

    return use


def test_the_command_checks_the_stored_objects(command: Command, files: Files, connected: Callable[..., Any]) -> None:
    made = cluster(BAD, NEEDS_GROVE)
    asked = connected(made)
    files(a=GOOD)
    report = command("check", "--cluster", "--context", "c", "-o", "json", "a.yaml").json
    assert asked == [("dynamo-webhooks-check", "", "c")]
    assert made.closed
    [finding] = report["findings"]
    assert (finding["rule"], finding["file"]) == (BAD_RULE, "cluster:dynamographdeployments/llm/bad")
    assert (report["summary"]["objects"], report["notEvaluated"]) == (3, [])
    assert command("check", "--cluster", "-n", "nowhere").code == 3
    # what was given wins over what the cluster says
    report = command("check", "--cluster", "--set-fact", "grove=false", "-o", "json").json
    assert {finding["object"]["name"] for finding in report["findings"]} == {"bad", "graph"}


def test_the_frame_shows_the_rendered_text(command: Command, connected: Callable[..., Any]) -> None:
    connected(cluster(BAD))
    ran = command("check", "--cluster")
    assert ran.out.startswith(f"cluster:dynamographdeployments/llm/bad:14:7 error {BAD_RULE}")
    assert "\n     14 |       ingress:\n" in ran.out


def test_files_are_checked_though_the_cluster_is_out_of_reach(command: Command, files: Files, connected: Callable[..., Any]) -> None:
    made = cluster(GOOD)
    made.fail(lambda *_: ForbiddenError(401, "Unauthorized", "who are you?"))
    connected(made)
    files(a=BAD)
    ran = command("check", "--cluster", "a.yaml", "-q")
    assert (ran.code, ran.err) == (6, "the cluster can't be asked: who are you?\n")
    assert BAD_RULE in ran.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--cluster", "--kubeconfig", "none.yaml"], "--kubeconfig: "),
        (["-n", "x", "a.yaml"], "--namespace is for --cluster: add it to check what a cluster holds"),
        (["--context", "x", "a.yaml"], "--context is for --cluster"),
        (["--cluster", "--against", "main"], "--against compares files, and the objects of --cluster are in none"),
        ([], "name at least one file, folder or glob, - for standard input, or --cluster"),
    ],
)
def test_flags_that_do_not_go_together_are_wrong_usage(command: Command, files: Files, words: list[str], sentence: str) -> None:
    files(a=GOOD)
    ran = command("check", *words)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err


def test_an_object_with_odd_text_is_read_back_as_it_is(tmp_path: Path) -> None:
    odd = {"yes": "no", "n": "1:30", "e": "1e3", "block": "# dynamo-webhooks: ignore[x] y\n- a\n", "u": "\u2028\x7f é", "empty": ""}
    made = cluster(yaml.safe_dump({**yaml.safe_load(MODEL), "metadata": {"name": "m", "namespace": "n", "annotations": odd}}))
    [one] = _see(made).files
    assert isinstance(one, Source)
    assert load(one.text)[0].data["metadata"]["annotations"] == odd


def test_a_group_that_answers_strangely_is_said() -> None:
    made = cluster(GOOD)
    made.fail(lambda verb, *_: InvalidError(400, "", "what?") if verb == "groups" else None)
    assert _see(made).unreachable == "the cluster can't be asked: what?"
