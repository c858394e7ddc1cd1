"""Secrets are written whole, on the very version that was read, and what others added stays."""

from typing import Any

import pytest

from dynamo_webhooks.certs.names import Names
from dynamo_webhooks.certs.store import Store, Write
from dynamo_webhooks.kube.errors import AlreadyExistsError, ConflictError
from dynamo_webhooks.kube.resources import SECRETS
from tests.kube.memory import MemoryCluster

CALLED = Names("n", "s")


def _write(version: str = "", data: dict[str, bytes] | None = None) -> Write:
    return Write("Secret", "s", "kubernetes.io/tls", data or {"tls.crt": b"1"}, {"webhooks.nvidia.com/phase": "STABLE"}, version)


async def test_a_secret_that_is_there_already_is_not_overwritten() -> None:
    store = Store(MemoryCluster(), CALLED)
    await store.write(_write())
    with pytest.raises(AlreadyExistsError):
        await store.write(_write(data={"tls.crt": b"2"}))


@pytest.mark.parametrize("how", ["changed", "gone", "made anew"])
async def test_anothers_write_in_between_is_a_conflict(how: str) -> None:
    cluster = MemoryCluster()
    store = Store(cluster, CALLED)
    made = await store.write(_write())
    if how == "changed":
        await store.annotate("Secret", "s", {"x": "1"})
    else:
        await cluster.delete(SECRETS, "s", "n")
        if how == "made anew":
            await store.write(_write())
    with pytest.raises(ConflictError):
        await store.write(_write(made["metadata"]["resourceVersion"], {"tls.crt": b"2"}))


@pytest.mark.parametrize("hold", [{"immutable": True}, {"type": "kubernetes.io/dockerconfigjson"}])
@pytest.mark.parametrize("finalizers", [[], ["a.example/b"]])
@pytest.mark.parametrize("deleted", [False, True])
async def test_what_cannot_be_replaced_is_made_anew(hold: dict[str, Any], finalizers: list[str], *, deleted: bool) -> None:
    cluster = MemoryCluster()
    metadata = {"name": "s", "namespace": "n", "finalizers": finalizers, "annotations": {"theirs": "1"}, "labels": {"a": "b"}}
    old = await cluster.create(SECRETS, {"metadata": metadata, "type": "kubernetes.io/tls", "data": {"x": "eA=="}, **hold})
    if deleted and finalizers:
        await cluster.delete(SECRETS, "s", "n")
        old = await cluster.get(SECRETS, "s", "n") or {}
    made = await Store(cluster, CALLED).write(_write(old["metadata"]["resourceVersion"]))
    assert made["metadata"]["uid"] != old["metadata"]["uid"]
    assert (made["type"], set(made["data"]), made.get("immutable")) == ("kubernetes.io/tls", {"tls.crt"}, None)
    assert (made["metadata"]["annotations"]["theirs"], made["metadata"]["labels"]["a"]) == ("1", "b")
    assert not made["metadata"].get("finalizers")


async def test_only_the_version_that_was_read_is_deleted() -> None:
    cluster = MemoryCluster()
    old = await cluster.create(SECRETS, {"metadata": {"name": "s", "namespace": "n"}, "immutable": True})

    def meanwhile(verb: str, *_: object) -> None:
        if verb == "delete":
            cluster.storage.records["", "secrets", "n", "s"].obj["metadata"]["resourceVersion"] = "changed"

    cluster.fail(meanwhile)
    with pytest.raises(ConflictError):
        await Store(cluster, CALLED).write(_write(old["metadata"]["resourceVersion"]))
    assert await Store(cluster, CALLED).serving() is not None
