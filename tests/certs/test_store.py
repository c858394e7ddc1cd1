"""Secrets are written whole, on the very version that was read, and what others added stays."""

from __future__ import annotations

import base64

import pytest

from dynamo_webhooks.certs.content import Write
from dynamo_webhooks.certs.names import Names
from dynamo_webhooks.certs.store import Store
from dynamo_webhooks.kube.errors import AlreadyExistsError, ConflictError
from dynamo_webhooks.kube.resources import SECRETS
from tests.kube.memory import MemoryCluster

CALLED = Names("n", "s")


def _write(version: str = "", data: dict[str, bytes] | None = None) -> Write:
    return Write("Secret", "s", "kubernetes.io/tls", data or {"tls.crt": b"1"}, {"webhooks.nvidia.com/phase": "STABLE"}, version)


async def test_a_new_secret_is_created_with_its_type_and_labels() -> None:
    cluster = MemoryCluster()
    await Store(cluster, CALLED).write(_write())
    found = await Store(cluster, CALLED).serving()
    assert found is not None
    assert (found["type"], found["data"]) == ("kubernetes.io/tls", {"tls.crt": base64.b64encode(b"1").decode()})
    assert found["metadata"]["labels"]["nvidia.com/dynamo-operator-namespace"] == "n"


async def test_a_secret_that_is_there_already_is_not_overwritten() -> None:
    store = Store(MemoryCluster(), CALLED)
    await store.write(_write())
    with pytest.raises(AlreadyExistsError):
        await store.write(_write(data={"tls.crt": b"2"}))


async def test_a_replacement_holds_exactly_the_new_keys_and_keeps_what_others_noted() -> None:
    cluster = MemoryCluster()
    store = Store(cluster, CALLED)
    await store.write(_write(data={"tls.crt": b"1", "ca.key": b"secret"}))
    await cluster.merge_patch(SECRETS, "s", {"metadata": {"annotations": {"theirs": "1"}}}, "n")
    old = await store.serving()
    assert old is not None
    await store.write(_write(old["metadata"]["resourceVersion"], {"tls.crt": b"2"}))
    found = await store.serving()
    assert found is not None
    assert set(found["data"]) == {"tls.crt"}
    assert found["metadata"]["annotations"]["theirs"] == "1"


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


async def test_names_may_be_configured() -> None:
    called = Names("n", "s", "authority", "trusted", "elected")
    assert (called.authority, called.trust, called.lease) == ("authority", "trusted", "elected")
    cluster = MemoryCluster()
    await cluster.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "authority", "namespace": "n"}})
    assert await Store(cluster, called).authority() is not None
    assert await Store(cluster, CALLED).authority() is None
