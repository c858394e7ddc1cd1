"""Children of a component, by values."""

from typing import Any

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.checkpoint.restore_condition import COLD
from dynamo_webhooks.reconciler.checkpoint.restoring import Choice
from dynamo_webhooks.reconciler.common.applied_diff import digest
from dynamo_webhooks.reconciler.component.decide import decide
from dynamo_webhooks.reconciler.component.observe import Seen
from dynamo_webhooks.reconciler.render.checkpoint.restore import Restore
from dynamo_webhooks.reconciler.render.checkpoint.storage import Storage
from dynamo_webhooks.reconciler.render.children import direct_children
from dynamo_webhooks.reconciler.render.settings import Settings
from dynamo_webhooks.reconciler.workload.pull_secrets import PullSecrets
from tests.reconciler.rendering import vllm

OWNER = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "u", "controller": True}
RESTORE = Restore("h", "1", Storage("snaps", "/c"), "")
SETTINGS = Settings(operator_version="1.2.0")


def _component(*, owned: bool = False, **more: Any) -> Node:
    metadata: Node = {"name": "g-w", "namespace": "demo", "uid": "c", "ownerReferences": [OWNER] if owned else []}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment", "metadata": metadata, "spec": vllm("w", **more)}


def _deployment(children: Any) -> Node:
    [found] = [child for child in children if child["kind"] == "Deployment"]
    return dict(found)


def _seen(choice: Choice | None = None, **more: Any) -> Seen:
    obj = _component(experimental={"checkpoint": {"checkpointRef": "ck", "startupPolicy": "WaitForCheckpoint"}})
    cold = _deployment(direct_children(obj, SETTINGS, Seen(obj).observed).children)
    return Seen(obj, SETTINGS, cold=cold, choice=choice or Choice(), **more)


def test_pods_are_restored_and_the_digest_of_cold_ones_is_noted() -> None:
    seen = _seen(Choice(RESTORE))
    found, cold = _deployment(decide(seen).children), seen.cold
    assert cold is not None
    assert found["metadata"]["annotations"][COLD] == digest(cold["spec"]["template"])
    assert found["spec"]["template"] != cold["spec"]["template"]
    assert _deployment(decide(_seen()).children)["spec"]["template"] == cold["spec"]["template"]


def test_there_are_no_pods_until_a_checkpoint_is_ready() -> None:
    assert _deployment(decide(_seen(Choice(waits=True))).children)["spec"]["replicas"] == 0


def test_services_of_models_are_left_to_the_graph() -> None:
    services = [{"kind": "Service", "metadata": {"name": name}} for name in ("dynamo-model-0a", "other")]
    for owned, kept in ((True, {"dynamo-model-0a"}), (False, set())):
        plan = decide(Seen(_component(owned=owned), SETTINGS, services))
        assert plan.kept == kept
        assert ("Deployment", "g-w") in plan.wanted


def test_nothing_with_pods_is_made_while_pull_secrets_are_unreadable() -> None:
    plan = decide(_seen(pull_secrets=PullSecrets({}, {}, "can't be read")))
    assert [problem.text for problem in plan.problems] == ["can't be read"]
    assert "Deployment" not in {child["kind"] for child in plan.children}


def test_a_part_that_can_not_be_rendered_is_a_problem() -> None:
    plan = decide(Seen(_component(multinode={"nodeCount": 2}), SETTINGS))
    assert [problem.category for problem in plan.problems] == ["validation"]
