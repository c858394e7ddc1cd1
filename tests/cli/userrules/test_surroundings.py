"""Parameters and Namespaces that policies read from a cluster in memory; tests/cluster/cli/test_policy_parameters.py asks a real one."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import pytest

from dynamo_webhooks.admission.userrules.evaluate import ParamRef, UnknownError
from dynamo_webhooks.admission.userrules.policy import Requirement, Selector
from dynamo_webhooks.cli.userrules.surroundings import PolicyInputs
from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.cli.clusters import cluster
from tests.cli.conftest import Command, Files
from tests.cli.userrules.samples import GRAPH, PROJECT, binding, policy
from tests.kube.memory import MemoryCluster

SIZED: Final = Selector((Requirement("size", "In", frozenset({"small"})),))


@pytest.fixture
def made(connected: Callable[..., Any]) -> MemoryCluster:
    """A cluster with two ConfigMaps and a Namespace."""
    memory = cluster()
    memory.discovery["", "v1"] = [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]

    async def fill() -> None:
        for name, size in (("limits", "small"), ("others", "large")):
            await memory.create(
                CONFIG_MAPS, {"metadata": {"name": name, "namespace": "llm", "labels": {"size": size}}, "data": {"most": "2"}}, "llm"
            )
        await memory.create(NAMESPACES, {"metadata": {"name": "llm", "labels": {"team": "chat"}}})

    asyncio.run(fill())
    connected(memory)
    return memory


def _names(name: str = "", selector: Selector | None = None, namespace: str = "llm", kind: str = "ConfigMap") -> list[str]:
    return [obj["metadata"]["name"] for obj in PolicyInputs("", "").params(ParamRef("v1", kind, namespace, name, selector))]


@pytest.mark.usefixtures("made")
def test_a_parameter_is_read_by_its_name_or_by_a_selector() -> None:
    assert (_names("limits"), _names("nothing"), _names("limits", namespace="other")) == (["limits"], [], [])
    assert _names(selector=SIZED) == ["limits"]
    assert PolicyInputs("", "").namespace("llm")["metadata"]["labels"] == {"team": "chat"}


def test_what_can_not_be_read_is_unknown_and_says_why(made: MemoryCluster) -> None:
    with pytest.raises(UnknownError, match="the API server has no kind Limit of v1"):
        _names("limits", kind="Limit")
    with pytest.raises(UnknownError, match="the Namespace other is not in the cluster"):
        PolicyInputs("", "").namespace("other")
    made.fail(lambda *_: ForbiddenError(403, "Forbidden", "you may not"))
    with pytest.raises(UnknownError, match="its parameter, the ConfigMap limits of namespace llm, can't be read: you may not"):
        _names("limits")
    with pytest.raises(UnknownError, match="the Namespace llm can't be read: you may not"):
        PolicyInputs("", "").namespace("llm")


def test_nothing_is_asked_for_twice_and_no_secret_ever(made: MemoryCluster) -> None:
    calls: list[str] = []

    def refuse(verb: str, *_: Any) -> ForbiddenError:
        calls.append(verb)
        return ForbiddenError(403, "Forbidden", "you may not")

    made.fail(refuse)
    around = PolicyInputs("", "")
    for _ in range(3):
        with pytest.raises(UnknownError, match="the Namespace llm can't be read"):
            around.namespace("llm")
        with pytest.raises(UnknownError, match="its parameter is a Secret, which is not read"):
            around.params(ParamRef("v1", "Secret", "llm", "token", None))
    assert calls == ["get"]


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("name", "message"), [("limits", "breaks few"), ("nothing", "the ConfigMap nothing of namespace llm, which does not exist")]
)
def test_a_file_is_checked_by_the_parameter_of_the_cluster(command: Command, files: Files, name: str, message: str) -> None:
    text = policy("object.spec.components.all(c, c.replicas <= int(params.data.most))", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    bound = binding(actions=("Warn",), paramRef={"name": name, "parameterNotFoundAction": "Deny"})
    (files(graph=GRAPH, policies__few=text + bound) / PROJECT).write_text("rules-from: [policies]\n")
    [row] = command("check", "graph.yaml", "--cluster", "--select", "user/", "-o", "json").json["findings"]
    assert (row["level"], message in row["message"]) == ("warning" if name == "limits" else "error", True)
