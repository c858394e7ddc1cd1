"""Facts from objects, and objects from steps: written objects are read back unchanged."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.contents import make_content
from dynamo_webhooks.certs.names import Names
from dynamo_webhooks.certs.reading import read_authority, read_serving, read_target, read_trust
from dynamo_webhooks.certs.state import Hint, Ownership, Phase, TargetKind
from dynamo_webhooks.certs.step import (
    AdoptAuthority,
    CreateAuthority,
    DropPrevious,
    MarkPhase,
    PromoteNext,
    RewriteServing,
    Step,
    StoreNext,
    WriteServing,
)
from dynamo_webhooks.certs.store import Store, Write, as_object
from dynamo_webhooks.kube.errors import ConflictError
from dynamo_webhooks.kube.resources import SECRETS
from tests.certs.states import NOW, PROFILE, authority, bundle, key, leaf_pair, pair, serving_of, state
from tests.kube.memory import MemoryCluster
from tests.rows import run_each

CALLED = Names("dynamo-system")
SERVICE = {"name": PROFILE.service, "namespace": PROFILE.namespace}
PEM = bundle("a")


def encoded(**data: bytes) -> dict[str, str]:
    return {name.replace("_", "."): base64.b64encode(value).decode() for name, value in data.items()}


def test_an_authority_secret_is_read() -> None:
    """Certificates, keys that belong to them, and hints."""
    notes = {
        names.PHASE: "ROLL",
        names.SINCE: "2026-05-17T14:00:00+02:00",
        names.GENERATION: "7",
        names.REASON: "expiry",
        names.REQUESTED: "x",
    }
    data = encoded(current_crt=pair("b").certificate, current_key=pair("b").key, previous_crt=bundle("ba"))
    secret = read_authority({"metadata": {"resourceVersion": "5", "annotations": notes}, "data": data})
    assert (secret.current, secret.previous, secret.next) == (authority("b"), (authority("a"),), None)
    assert secret.current_key == key(pair("b").key)
    assert secret.hint == Hint(Phase.ROLL, datetime(2026, 5, 17, 12, tzinfo=UTC))
    assert (secret.version, secret.generation, secret.reason, secret.requested, secret.handled) == ("5", 7, "expiry", "x", "")


def test_a_key_of_another_certificate_is_lost() -> None:
    """It could sign nothing that a client trusts."""
    data = encoded(current_crt=pair("b").certificate, current_key=pair("a").key, next_crt=b"x", next_key=pair("a").key)
    secret = read_authority({"data": data})
    assert (secret.current, secret.current_key, secret.next, secret.next_key) == (authority("b"), None, None, None)


@given(
    data=st.dictionaries(st.sampled_from(["current.crt", "tls.crt", "tls.key", "ca.crt", "ca.key", "usable"]), st.text() | st.none()),
    notes=st.dictionaries(st.sampled_from([names.PHASE, names.SINCE, names.GENERATION]), st.text()),
)
def test_whatever_stands_there_is_a_fact(data: dict[str, Any], notes: dict[str, str]) -> None:
    """Damaged objects of every kind are read without an error."""
    obj = {"metadata": {"annotations": notes}, "data": data}
    assert read_authority(obj).current is None
    assert read_serving(obj).leaf is None
    assert isinstance(read_trust(obj).usable, frozenset)


@run_each("since", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_is_out_of_range_is_none(since: str) -> None:
    """Otherwise a handwritten annotation would stop all certificate work."""
    notes = {names.PHASE: "SETTLE", names.SINCE: since}
    assert read_trust({"metadata": {"annotations": notes}}).hint == Hint(Phase.SETTLE, None)


CONVERT = {**SERVICE, "path": "/convert"}
CRD = TargetKind.CRD
WEBHOOK = TargetKind.VALIDATING


def crd(strategy: str = "Webhook", **config: Any) -> dict[str, Any]:
    webhook = {"clientConfig": config, "conversionReviewVersions": config.pop("versions", ["v2", "v1"])}
    return {"metadata": {}, "spec": {"conversion": {"strategy": strategy, "webhook": webhook}}}


def hooks(*configs: dict[str, Any], note: str = "") -> dict[str, Any]:
    return {"metadata": {"annotations": {note: "x"} if note else {}}, "webhooks": [{"clientConfig": config} for config in configs]}


@run_each(
    ("ownership", "bundles", "kind", "obj"),
    [
        (Ownership.ABSENT, (), CRD, None),
        (Ownership.UNSET, (), CRD, {"metadata": {}, "spec": {}}),
        (Ownership.UNSET, (), CRD, crd("None")),
        (Ownership.OURS, (b"",), CRD, crd(service=CONVERT)),
        (Ownership.OURS, (PEM,), CRD, crd(service=CONVERT, caBundle=base64.b64encode(PEM).decode())),
        (Ownership.UNSET, (b"",), CRD, crd(service=SERVICE)),
        (Ownership.UNSET, (b"",), CRD, crd(service={**SERVICE, "path": "/convert/"})),
        (Ownership.UNSET, (b"",), CRD, crd(service=CONVERT, versions=["v1beta1"])),
        (Ownership.FOREIGN, (), CRD, crd(service={**SERVICE, "namespace": "other"})),
        (Ownership.FOREIGN, (), CRD, crd(url="https://example.org")),
        (
            Ownership.OURS,
            (b"", PEM),
            WEBHOOK,
            hooks({"service": SERVICE}, {"service": SERVICE, "caBundle": base64.b64encode(PEM).decode()}),
        ),
        (
            Ownership.OURS,
            (b"",),
            WEBHOOK,
            hooks({"url": "https://example.org"}, {"service": SERVICE}, {"service": {"name": "x", "namespace": "y"}}),
        ),
        (Ownership.FOREIGN, (), WEBHOOK, hooks({"url": "https://example.org"})),
        (Ownership.FOREIGN, (), WEBHOOK, {"metadata": {}}),
        (Ownership.ANNOTATED, (b"",), WEBHOOK, hooks({"service": SERVICE}, note="cert-manager.io/inject-ca-from")),
        (Ownership.FOREIGN, (), WEBHOOK, hooks({"url": "x"}, note="cert-manager.io/inject-ca-from-secret")),
    ],
)
def test_ownerships(ownership: Ownership, bundles: tuple[bytes, ...], kind: TargetKind, obj: dict[str, Any] | None) -> None:
    """Entries that call the installation's Service; an entry with a URL or another Service is foreign."""
    target = read_target(kind, "x", obj, PROFILE.service, PROFILE.namespace)
    assert (target.ownership, target.bundles) == (ownership, bundles)


def test_a_stanza_is_taken_over_only_when_told() -> None:
    """Never stolen."""
    other = crd(service={"name": "theirs", "namespace": "n"})
    assert read_target(CRD, "x", other, "s", "n").ownership is Ownership.FOREIGN
    assert read_target(CRD, "x", other, "s", "n", take_over=True).ownership is Ownership.UNSET


@run_each(
    ("step", "keys", "phase"),
    [
        (CreateAuthority(), {"current.crt", "current.key"}, "BOOTSTRAP"),
        (CreateAuthority((authority("c"),)), {"current.crt", "current.key", "previous.crt"}, "TRUST"),
        (AdoptAuthority(), {"current.crt", "current.key"}, "STABLE"),
        (StoreNext("expiry"), {"current.crt", "current.key", "next.crt", "next.key", "previous.crt"}, "TRUST"),
        (PromoteNext((authority("a"),)), {"current.crt", "current.key", "previous.crt"}, "ROLL"),
        (MarkPhase(Phase.SETTLE), {"current.crt", "current.key", "next.crt", "next.key", "previous.crt"}, "SETTLE"),
        (DropPrevious(), {"current.crt", "current.key", "next.crt", "next.key"}, "STABLE"),
    ],
)
def test_what_is_written_into_the_ca_secret(step: Step, keys: set[str], phase: str) -> None:
    """One update has all keys, none of a previous authority, the version that was read, and foreign annotations."""
    serving = serving_of(leaf_pair("a"), bundle("a"), authority_key=key(pair("a").key), holds_authority_key=True)
    before = replace(state("a>b<c", by="a"), serving=serving)
    write = make_content(step, before, NOW, CALLED)
    assert write is not None
    assert (write.name, write.version, set(write.data)) == ("webhook-server-cert-ca", "1", keys)
    old = {"metadata": {"annotations": {"theirs": "1", names.REASON: "x"}, "labels": {"mine": "2"}}, "type": "Opaque", "stringData": {}}
    obj = as_object(write, old, "dynamo-system")
    json.dumps(obj)
    assert obj["metadata"]["annotations"]["theirs"] == "1"
    assert obj["metadata"]["labels"]["mine"] == "2"
    assert obj["metadata"]["resourceVersion"] == "1"
    assert "stringData" not in obj
    secret = read_authority(obj)
    assert secret.hint == Hint(Phase(phase), NOW)
    assert secret.current is not None
    assert secret.current_key is not None
    assert read_authority(as_object(write, None, "n")).current == secret.current


def test_a_config_map_that_is_rewritten_holds_nothing_else() -> None:
    """A bundle that somebody wrote as binary data would stand beside ours, under the same key or another."""
    write = Write("ConfigMap", "t", "", {"ca.crt": b"PEM"}, {}, "1")
    obj = as_object(write, {"metadata": {"labels": {"mine": "2"}}, "data": {"x": "y"}, "binaryData": {"ca.crt": "AA=="}}, "n")
    assert (obj["data"], obj.get("binaryData"), obj["metadata"]["labels"]["mine"]) == ({"ca.crt": "PEM"}, None, "2")


def test_generations_never_repeat() -> None:
    """Also when the annotation is lost: the names of all known authorities count."""
    for before, generation in ((state("a", shows=("c",)), 4), (replace(state("a", shows=("g",)), authority=None), 8)):
        write = make_content(CreateAuthority(), before, NOW, CALLED)
        assert write is not None
        assert write.notes[names.GENERATION] == str(generation)
        made = read_authority(as_object(write, None, "n")).current
        assert made is not None
        assert made.common_name == f"dynamo-webhook-ca-{generation}"


def test_a_serving_secret_is_written_whole() -> None:
    """The first has the right type and needs no version; a rewrite keeps the leaf and drops the authority's key."""
    fresh = make_content(WriteServing("current", bundle("a"), "missing"), state(by="", shows=("a",)), NOW, CALLED)
    assert fresh is not None
    obj = as_object(fresh, None, "dynamo-system")
    assert (obj["type"], obj["kind"], obj["metadata"].get("resourceVersion")) == ("kubernetes.io/tls", "Secret", None)
    assert obj["metadata"]["labels"]["nvidia.com/dynamo-operator-namespace"] == "dynamo-system"
    leaf = read_serving(obj).leaf
    assert leaf is not None
    assert leaf.names == frozenset(PROFILE.names)
    assert leaf.not_before == NOW - timedelta(hours=1)
    again = make_content(RewriteServing(bundle("ab")), state(), NOW, CALLED)
    assert again is not None
    assert again.data == {"tls.crt": leaf_pair("a").certificate, "tls.key": leaf_pair("a").key, "ca.crt": bundle("ab")}


OURS = Names("n", "s")


def _write(version: str = "", data: dict[str, bytes] | None = None) -> Write:
    return Write("Secret", "s", "kubernetes.io/tls", data or {"tls.crt": b"1"}, {"webhooks.nvidia.com/phase": "STABLE"}, version)


@run_each("how", ["changed", "gone", "made anew"])
async def test_anothers_write_in_between_is_a_conflict(how: str) -> None:
    cluster = MemoryCluster()
    store = Store(cluster, OURS)
    made = await store.write(_write())
    if how == "changed":
        await store.annotate("Secret", "s", {"x": "1"})
    else:
        await cluster.delete(SECRETS, "s", "n")
        if how == "made anew":
            await store.write(_write())
    with pytest.raises(ConflictError):
        await store.write(_write(made["metadata"]["resourceVersion"], {"tls.crt": b"2"}))


@run_each("hold", [{"immutable": True}, {"type": "kubernetes.io/dockerconfigjson"}])
@run_each("finalizers", [[], ["a.example/b"]])
@run_each("deleted", [False, True])
async def test_what_cannot_be_replaced_is_made_anew(hold: dict[str, Any], finalizers: list[str], *, deleted: bool) -> None:
    cluster = MemoryCluster()
    metadata = {"name": "s", "namespace": "n", "finalizers": finalizers, "annotations": {"theirs": "1"}, "labels": {"a": "b"}}
    old = await cluster.create(SECRETS, {"metadata": metadata, "type": "kubernetes.io/tls", "data": {"x": "eA=="}, **hold})
    if deleted and finalizers:
        await cluster.delete(SECRETS, "s", "n")
        old = await cluster.get(SECRETS, "s", "n") or {}
    made = await Store(cluster, OURS).write(_write(old["metadata"]["resourceVersion"]))
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
        await Store(cluster, OURS).write(_write(old["metadata"]["resourceVersion"]))
    assert await Store(cluster, OURS).serving() is not None
