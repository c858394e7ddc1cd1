"""Pull secrets of opted-in namespaces: which Secrets are read, when pods get them, and what is never told."""

import base64
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dynamo_webhooks.kube.resources import DEPLOYMENTS, SECRETS, Resource
from dynamo_webhooks.reconciler.common.resources import CLIQUE_SETS, SECRET
from dynamo_webhooks.reconciler.render.pod.registries import MAX_ADDRESSES, index_secrets, list_addresses, names_for
from tests.reconciler.rendering import component, graph
from tests.reconciler.site import GROVE_API, NAMESPACE, Site, settings
from tests.rows import run_each

ALL = "secrets: {pull: all, namespaces: [demo]}\n"
LABELLED = "secrets: {pull: labelled, namespaces: [demo]}\n"
PASSWORD = base64.b64encode(b"user:hunter2").decode()
LABEL = {"webhooks.nvidia.com/pull-secret": "true"}


class Scene(Site):
    """A site whose requests for Secrets are counted."""

    def __init__(self, more: str) -> None:
        super().__init__(settings(more))
        self.asked: list[tuple[str, str]] = []
        self.cluster.fail(self._note)

    def _note(self, verb: str, resource: Resource | None, namespace: str, _name: str) -> None:
        if resource == SECRETS:
            self.asked.append((verb, namespace))

    async def put(self, name: str, host: str = "nvcr.io", **labels: str) -> None:
        """Creates a pull secret as a user does."""
        made = secret({host: {"auth": PASSWORD}}, apiVersion="v1", metadata={"name": name, "labels": labels})
        await self.user.create(SECRETS, made, NAMESPACE)

    async def names(self) -> list[str]:
        """The pull secrets of the pods."""
        live = await self.get(DEPLOYMENTS, "g-fe")
        return [entry["name"] for entry in live["spec"]["template"]["spec"].get("imagePullSecrets", ())]


@contextlib.asynccontextmanager
async def scene(more: str, *names: str, **labels: str) -> AsyncIterator[Scene]:
    """A graph with an image of nvcr.io beside pull secrets for that host."""
    site = Scene(more)
    for name in names:
        await site.put(name, **labels)
    async with site.running(graph(_frontend())):
        yield site


def _frontend() -> dict[str, Any]:
    return component("fe", "frontend", {"image": "nvcr.io/x:1"})


async def test_without_opting_in_no_secret_is_asked_for() -> None:
    async with scene("", "a") as site:
        await site.later(60)
        assert (await site.names(), site.asked) == ([], [])
    async with scene("secrets: {pull: all, namespaces: [other]}\n", "a") as site:
        assert await site.names() == []
        assert {namespace for _, namespace in site.asked} == {"other"}


@run_each(("more", "labels", "names"), [(ALL, {}, ["a"]), (LABELLED, {}, []), (LABELLED, LABEL, ["a"])])
async def test_pods_get_the_secrets_of_their_registries(more: str, labels: dict[str, str], names: list[str]) -> None:
    async with scene(more, "a", **labels) as site:
        assert await site.names() == names
        assert bool(site.cache.all(SECRET)) is bool(names)  # Secrets without the label are not asked for
        assert (await site.condition())["status"] == "True"
        assert {namespace for _, namespace in site.asked} == {NAMESPACE}
        assert await site.writes_within(100) == []


async def test_an_added_secret_waits_for_another_change_and_a_removed_one_does_not() -> None:
    async with scene(ALL, "a") as site:
        before = (await site.user.get(DEPLOYMENTS, "g-fe", NAMESPACE) or {})["spec"]
        await site.put("b")
        await site.later(5)
        assert (await site.user.get(DEPLOYMENTS, "g-fe", NAMESPACE) or {})["spec"] == before
        await site.edit("g", 0, replicas=2)
        assert await site.names() == ["a"]  # more pods of the same kind are no reason to replace those that run
        await site.edit("g", 0, podTemplate={"spec": {"containers": [{"name": "main", "image": "nvcr.io/x:2"}]}})
        assert await site.names() == ["a", "b"]
        await site.delete(SECRETS, "a")
        assert await site.names() == ["b"]


async def test_opting_in_later_changes_no_pods_that_run() -> None:
    async with scene("", "a") as site:
        before = (await site.user.get(DEPLOYMENTS, "g-fe", NAMESPACE) or {})["spec"]
        await site.stop()
        site.settings = settings(ALL)
        site.start()
        await site.rest()
        assert (await site.user.get(DEPLOYMENTS, "g-fe", NAMESPACE) or {})["spec"] == before


async def test_a_secret_that_can_not_be_read_is_named_and_changes_nothing_for_others() -> None:
    async with scene(ALL, "a") as site:
        await site.user.create(SECRETS, secret("{", apiVersion="v1", metadata={"name": "bad"}), NAMESPACE)
        await site.create(SECRETS, secret("{", "kubernetes.io/dockercfg", apiVersion="v1", metadata={"name": "worse"}))
        events = [(name, reason) for name, reason, _ in await site.events() if reason == "PullSecretUnreadable"]
        assert sorted(events) == [("bad", "PullSecretUnreadable"), ("worse", "PullSecretUnreadable")]
        assert await site.names() == ["a"]


async def test_without_a_permission_pods_are_left_as_they_are_and_the_graph_names_it() -> None:
    site = Scene(ALL)
    site.cluster.denied |= {("list", "secrets"), ("watch", "secrets")}
    await site.put("a")
    async with site.running(graph(_frontend())):
        assert await site.user.get(DEPLOYMENTS, "g-fe", NAMESPACE) is None
        text = (await site.condition())["message"]
        assert "the Secrets of the namespace demo can't be read: " in text
        assert "add manifests/components/pull-secrets" in text
        site.cluster.denied.clear()
        await site.later(120)
        assert await site.names() == ["a"]


async def test_no_value_is_kept_or_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with scene(ALL, "a") as site:
        await site.patch(SECRETS, "a", {"metadata": {"annotations": {"last-applied": PASSWORD}}})
        kept = json.dumps(site.cache.all(SECRET))
        assert "nvcr.io" in kept
        stored = json.dumps([record.obj for key, record in site.storage.records.items() if key[1] != SECRETS.plural], default=str)
        assert "g-fe" in stored
        for text in (kept, stored, caplog.text, str(await site.events())):
            assert PASSWORD not in text
            assert "hunter2" not in text


async def test_on_grove_additions_wait_and_removals_do_not() -> None:
    site = Scene(ALL)
    site.serve(GROVE_API)
    await site.put("a")

    async def names() -> list[list[str]]:
        [live] = (await site.user.list(CLIQUE_SETS, NAMESPACE)).items
        pods = [clique["spec"]["podSpec"] for clique in live["spec"]["template"]["cliques"]]
        return [[entry["name"] for entry in pod.get("imagePullSecrets", ())] for pod in pods]

    async with site.running(graph(_frontend())):
        assert await names() == [["a"]]
        await site.put("b")
        await site.later(5)
        assert await names() == [["a"]]
        await site.delete(SECRETS, "a")
        assert await names() == [["b"]]


def secret(auths: Any, kind: str = "kubernetes.io/dockerconfigjson", **more: Any) -> dict[str, Any]:
    text = auths if isinstance(auths, str) else json.dumps(auths if kind.endswith("cfg") else {"auths": auths})
    name = ".dockercfg" if kind.endswith("cfg") else ".dockerconfigjson"
    return {"kind": "Secret", "type": kind, "data": {name: base64.b64encode(text.encode()).decode()}, **more}


@run_each(
    ("given", "addresses"),
    [
        (secret({"https://nvcr.io/v2/": {}, "reg:5000": {}}), ["nvcr.io", "reg:5000"]),
        (secret({"https://index.docker.io/v1/": {}}), ["index.docker.io"]),
        (secret({"docker.io": {}, "registry-1.docker.io": {}}), ["index.docker.io"]),
        (secret({"gcr.io/a/": {}, "http://gcr.io/v2/b": {}}), ["gcr.io/a", "gcr.io/b"]),
        (secret({"": {}, "x.io": {}}), ["x.io"]),
        (secret({"nvcr.io": {}}, "kubernetes.io/dockercfg"), ["nvcr.io"]),
        (secret({"nvcr.io": {}}, "Opaque"), []),
        (secret("{"), None),
        (secret([]), None),
        (secret('{"auths": 1}'), None),
        (secret("[" * 100_000), None),
        (secret({f"r{number}.io": {} for number in range(MAX_ADDRESSES + 1)}), None),
        ({"type": "kubernetes.io/dockerconfigjson"}, None),
        ({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "%%"}}, None),
        ({"type": "kubernetes.io/dockerconfigjson", "data": []}, None),
        ({"type": ["x"]}, []),
    ],
)
def test_addresses_of_a_secret(given: dict[str, Any], addresses: list[str] | None) -> None:
    assert list_addresses(given) == addresses


@run_each(
    ("image", "names"),
    [
        ("nvcr.io/nvidia/x:1", ("a", "b")),
        ("nvcr.io:443/x", ()),
        ("NVCR.io/x", ()),
        ("nginx:1.25", ("hub",)),
        ("library/nginx", ("hub",)),
        ("docker.io/library/nginx@sha256:0", ("hub",)),
        ("gcr.io/a/x", ("deep",)),
        ("gcr.io/b/x", ("wide",)),
        ("eu.example.com/x", ("star",)),
        ("a.eu.example.com/x", ()),
        ("example.com/x", ()),
        ("localhost:5000/x", ("local",)),
        ("", ()),
        ("/x", ("hub",)),
    ],
)
def test_the_longest_address_of_an_image_counts(image: str, names: tuple[str, ...]) -> None:
    given = [
        ("b", ["nvcr.io"]),
        ("a", ["nvcr.io"]),
        ("hub", ["index.docker.io"]),
        ("wide", ["gcr.io"]),
        ("deep", ["gcr.io/a"]),
        ("star", ["*.example.com"]),
        ("local", ["localhost:5000"]),
    ]
    assert names_for(image, index_secrets(given)) == names
