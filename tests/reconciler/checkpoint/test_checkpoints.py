"""What recorded passes don't show of checkpoints: contradictions, storage of agents, Leases, and which pods are restored."""

from dataclasses import replace
from typing import Any

import pytest

from dynamo_webhooks.api.operator.features import Pvc
from dynamo_webhooks.reconciler.checkpoint.restore_condition import RestoreState, find_restore_obstacle, summarize_states
from dynamo_webhooks.reconciler.render.checkpoint.job import make_job
from dynamo_webhooks.reconciler.render.checkpoint.restore import Restore, list_targets, restore_pod_metadata, restore_pod_spec
from dynamo_webhooks.reconciler.render.checkpoint.storage import Storage, find_agent_storage, find_configured_storage
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.names import RESTORE_TARGET
from dynamo_webhooks.reconciler.render.settings import CheckpointSettings, Settings
from tests.reconciler.checkpoint.objects import checkpoint
from tests.rows import run_each

Fields = dict[str, Any]
CLAIM = CheckpointSettings(enabled=True, pvc=Pvc(pvc_name="snaps", base_path="/c"))


@run_each("path", ["/etc/podinfo", "/snapshot-control", "/c"])
def test_another_volume_at_one_of_our_paths_is_told_at_its_field(path: str) -> None:
    obj = checkpoint()
    [main] = obj["spec"]["job"]["podTemplateSpec"]["spec"]["containers"]
    main["volumeMounts"] = [{"name": "mine", "mountPath": path}]
    with pytest.raises(RenderError) as raised:
        make_job(obj, CLAIM)
    assert raised.value.path == ("spec", "job", "podTemplateSpec", "spec", "containers", 0, "volumeMounts", 0, "mountPath")
    assert f"must not be {path}" in raised.value.reason


@run_each("version", ["UPPER", "a b", "1-", "x" * 32, "1/2", "ä"])
def test_a_version_that_makes_no_name_is_told(version: str) -> None:
    with pytest.raises(RenderError, match="snapshot-artifact-version: must be at most 31 lower-case letters"):
        make_job(checkpoint(version=version), CheckpointSettings())
    assert make_job(checkpoint(version="x" * 31), CheckpointSettings())["metadata"]["name"].endswith("x" * 31)


@run_each(
    ("template", "text"),
    [
        ({"targetContainerName": "zz"}, 'pod spec has no container named "zz"'),
        ({"podTemplateSpec": {"spec": {"containers": []}}}, "checkpoint job requires at least one container"),
        ({"podTemplateSpec": {"spec": {"containers": "x"}}}, "spec.job.podTemplateSpec.spec.containers"),
        ({"podTemplateSpec": None}, "requires at least one container"),
    ],
)
def test_a_template_that_makes_no_job_is_told(template: dict[str, Any], text: str) -> None:
    with pytest.raises(RenderError) as raised:
        make_job(checkpoint(**template), CheckpointSettings())
    assert text in str(raised.value)


@run_each(
    "spec",
    [
        None,
        {},
        {"identity": None},
        {"job": []},
        {"job": {"podTemplateSpec": {"spec": {"containers": [None]}}}},
        {"identity": {"model": []}},
    ],
)
def test_whatever_a_spec_holds_is_told(spec: Any) -> None:
    made = render({**checkpoint(), "spec": spec}, Settings())
    assert made.children == []
    assert len(made.problems) == 1


@run_each(
    ("config", "storage"),
    [
        (CheckpointSettings(), None),
        (CheckpointSettings(storage="pvc"), None),
        (CheckpointSettings(storage="s3"), None),
        (CLAIM, Storage("snaps", "/c")),
        (CLAIM._replace(pvc=replace(CLAIM.pvc, base_path="//a/../b//")), Storage("snaps", "/b")),
        (CLAIM._replace(pvc=replace(CLAIM.pvc, base_path="/")), Storage("snaps", "/")),
    ],
)
def test_the_storage_of_the_configuration(config: CheckpointSettings, storage: Storage | None) -> None:
    assert find_configured_storage(config) == storage


def _agent(name: str, path: str = "/snaps/", container: str = "agent", **volume: Any) -> Fields:
    held = volume or {"persistentVolumeClaim": {"claimName": "kept"}}
    pod = {
        "volumes": [{"name": "checkpoints", **held}],
        "containers": [{"name": container, "volumeMounts": [{"name": "checkpoints", "mountPath": path}]}],
    }
    return {"metadata": {"name": name}, "spec": {"template": {"spec": pod}}}


def test_the_first_agent_that_mounts_a_claim_tells_where_snapshots_are() -> None:
    unsuitable = [_agent("a", emptyDir={}), _agent("b", container="other"), _agent("c", path="/")]
    assert find_agent_storage([*unsuitable, _agent("d")], "demo") == Storage("kept", "/snaps", configured=False)
    with pytest.raises(RenderError, match=r"does not mount a PVC-backed checkpoint volume \(a, b, c\)"):
        find_agent_storage(unsuitable, "demo")
    with pytest.raises(RenderError, match="no snapshot-agent daemonset found in namespace demo"):
        find_agent_storage([], "demo")


def _component(**experimental: Any) -> Fields:
    template = {"spec": {"containers": [{"name": "main", "image": "img:1"}]}}
    return {"name": "w", "podTemplate": template, "experimental": {"checkpoint": {"checkpointRef": "ck"}, **experimental}}


READY: Fields = {**checkpoint(), "status": {"phase": "Ready"}}


@run_each(
    ("live", "component", "config", "reason"),
    [
        (None, {**_component(), "experimental": {"checkpoint": {"identity": {"model": "m"}}}}, CLAIM, "CheckpointNotReady"),
        ({**checkpoint(), "status": {"phase": "Failed", "message": "x"}}, _component(), CLAIM, "CheckpointFailed"),
        (READY, _component(), CheckpointSettings(), "RestoreOff"),
        (READY, _component(), CLAIM, None),
        (READY, {**_component(), "podTemplate": {"spec": {"containers": [{"name": "main", "image": "img:2"}]}}}, CLAIM, "ImageDiffers"),
    ],
)
def test_why_pods_are_not_restored(live: Fields | None, component: Fields, config: CheckpointSettings, reason: str | None) -> None:
    hindered = find_restore_obstacle(live, component, config, any_image=False)
    assert (hindered.reason if hindered else None) == reason


def test_a_graph_tells_the_worst_of_its_components() -> None:
    states = {"a": RestoreState("Restored", "x"), "b": RestoreState("ImageDiffers", "y"), "c": RestoreState("ImageDiffers", "z")}
    assert summarize_states(states) == RestoreState("ImageDiffers", "b: y; c: z")
    assert summarize_states({}) is None


def test_a_restored_pod_waits_for_its_agent_and_keeps_what_the_user_mounts() -> None:
    probe = {"httpGet": {"path": "/live", "port": 1}, "initialDelaySeconds": 9, "failureThreshold": 3}
    main = {
        "name": "main",
        "command": ["a"],
        "args": ["b"],
        "livenessProbe": probe,
        "volumeMounts": [{"name": "podinfo", "mountPath": "/p"}],
    }
    pod: Fields = {"containers": [main], "volumes": [{"name": "podinfo", "emptyDir": {}}]}
    restore = Restore("h" * 16, "1", Storage("kept", "/snaps", configured=False), "")
    restore_pod_spec(pod, list_targets(_component()), restore, ("spec",))
    [container] = pod["containers"]
    assert (container["command"], "args" in container, "securityContext" in pod) == (["sleep", "infinity"], False, False)
    startup = {"httpGet": {"path": "/live", "port": 1}, "periodSeconds": 1, "failureThreshold": 2**31 - 1, "successThreshold": 1}
    assert container["startupProbe"] == startup
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/p", "/snaps", "/snapshot-control"]
    marks = restore_pod_metadata({"labels": {"a": "b"}}, list_targets(_component()), restore)
    assert "nvidia.com/snapshot-storage-type" not in marks["annotations"]
    assert marks["labels"] == {"a": "b", RESTORE_TARGET: "true", "nvidia.com/snapshot-checkpoint-id": "h" * 16}


def test_both_engines_of_a_failover_are_restored() -> None:
    pod: Fields = {"containers": [{"name": "engine-0"}, {"name": "engine-1"}, {"name": "side", "command": ["x"]}]}
    restore_pod_spec(pod, list_targets(_component(failover={"mode": "IntraPod"})), Restore("h", "1", Storage("kept", "/c"), "p"), ("spec",))
    assert [container["command"] for container in pod["containers"]] == [["sleep", "infinity"], ["sleep", "infinity"], ["x"]]
    assert [container["volumeMounts"][1]["subPath"] for container in pod["containers"][:2]] == ["engine-0", "engine-1"]
