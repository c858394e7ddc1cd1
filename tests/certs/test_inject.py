"""Patches touch our own entries alone, and nothing that moved; a bundle that doesn't stay is noticed."""

import base64

import pytest

from dynamo_webhooks.certs.inject import Injector, OverwrittenError, make_patch
from dynamo_webhooks.certs.reading import read_target
from dynamo_webhooks.certs.state import Profile, TargetKind
from dynamo_webhooks.kube.errors import ConflictError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import VALIDATING
from tests.certs.site import OTHERS, configuration, definition, entry
from tests.certs.states import bundle
from tests.kube.memory import MemoryCluster
from tests.rows import run_each

PROFILE = Profile("dynamo-webhooks", "dynamo-system")
NAME = "dynamo-webhooks-validating"
GRAPHS = "dynamographdeployments.nvidia.com"
TRUSTED = bundle("a")
ENCODED = base64.b64encode(TRUSTED).decode()


def _patch(kind: TargetKind, obj: Node) -> list[Node]:
    target = read_target(kind, obj["metadata"]["name"], obj, PROFILE.service, PROFILE.namespace)
    return make_patch(target, obj, TRUSTED, PROFILE)


def test_only_entries_that_name_our_service_are_written_and_each_is_tested_first() -> None:
    other = {"service": {"name": "dynamo-webhooks", "namespace": "elsewhere"}}
    obj = configuration(VALIDATING, NAME, entry("url", dict(OTHERS)), entry("a"), entry("other", other), entry("b"))
    obj["metadata"]["resourceVersion"] = "7"
    assert _patch(TargetKind.VALIDATING, obj) == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "test", "path": "/webhooks/1/name", "value": "a.kb.io"},
        {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": ENCODED},
        {"op": "test", "path": "/webhooks/3/name", "value": "b.kb.io"},
        {"op": "add", "path": "/webhooks/3/clientConfig/caBundle", "value": ENCODED},
    ]


def test_a_stanza_of_ours_gets_its_bundle_and_keeps_the_rest() -> None:
    obj = definition("DynamoGraphDeployment")
    service = {"name": PROFILE.service, "namespace": PROFILE.namespace, "path": "/convert", "port": 8443}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1", "v2"]}
    obj["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    obj["metadata"]["resourceVersion"] = "7"
    assert _patch(TargetKind.CRD, obj) == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/spec/conversion/webhook/clientConfig/caBundle", "value": ENCODED},
    ]


def test_a_damaged_stanza_of_ours_is_written_anew_and_keeps_its_port() -> None:
    obj = definition("DynamoGraphDeployment")
    service = {"name": PROFILE.service, "namespace": PROFILE.namespace, "path": "/", "port": 8443}
    obj["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]},
    }
    [_, written] = _patch(TargetKind.CRD, obj)
    assert written["value"]["webhook"]["clientConfig"] == {"service": service | {"path": "/convert"}, "caBundle": ENCODED}


@run_each("stanza", [None, {"strategy": "None"}])
def test_a_stanza_that_is_not_set_is_written_whole(stanza: Node | None) -> None:
    obj = definition("DynamoGraphDeployment")
    obj["spec"].pop("conversion", None)
    if stanza:
        obj["spec"]["conversion"] = stanza
    [_, written] = _patch(TargetKind.CRD, obj)
    assert written["path"] == "/spec/conversion"
    assert written["value"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {"name": "dynamo-webhooks", "namespace": "dynamo-system", "path": "/convert", "port": 443},
                "caBundle": ENCODED,
            },
            "conversionReviewVersions": ["v1"],
        },
    }


@pytest.fixture
async def cluster() -> MemoryCluster:
    memory_cluster = MemoryCluster("dynamo-webhooks-provisioner")
    await memory_cluster.create(VALIDATING, configuration(VALIDATING, NAME, entry("a")))
    return memory_cluster


@pytest.mark.parametrize("moment", ["before", "between"])
async def test_an_object_that_moved_is_a_conflict_and_is_not_written(cluster: MemoryCluster, moment: str) -> None:
    injector = Injector(cluster, PROFILE)
    target = await injector.read(TargetKind.VALIDATING, NAME)

    def move() -> None:
        record = cluster.storage.records[VALIDATING.group, VALIDATING.plural, "", NAME]
        record.obj["metadata"]["resourceVersion"] = "9999"
        record.obj["webhooks"][0]["name"] = "moved.kb.io"

    if moment == "before":
        move()
    else:
        cluster.fail(lambda verb, *_: move() if verb == "json_patch" else None)
    with pytest.raises(ConflictError):
        await injector.write(target, TRUSTED)
    assert (await injector.read(TargetKind.VALIDATING, NAME)).bundles == (b"",)


async def test_a_bundle_that_does_not_stay_is_noticed(cluster: MemoryCluster) -> None:
    injector = Injector(cluster, PROFILE)
    target = await injector.read(TargetKind.VALIDATING, NAME)
    reads = 0

    def undo(verb: str, *_: object) -> None:
        nonlocal reads
        reads += verb == "get"
        if reads == 2:
            cluster.storage.records[VALIDATING.group, VALIDATING.plural, "", NAME].obj["webhooks"][0]["clientConfig"].pop("caBundle", None)

    cluster.fail(undo)
    with pytest.raises(OverwrittenError, match="changed by another client"):
        await injector.write(target, TRUSTED)
