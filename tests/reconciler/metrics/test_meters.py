"""Objects by state, as metrics count them."""

from typing import Any

from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, MODELS, REQUESTS
from dynamo_webhooks.reconciler.metrics.meters import Meters, objects_by_state
from tests.reconciler.site import NAMESPACE, running


async def test_each_kind_is_counted_by_its_own_state() -> None:
    async with running(more="controllers: {models: 'off', checkpoints: 'off', requests: 'off'}\n") as site:
        await site.rest()
        statuses: dict[Any, list[dict[str, Any]]] = {
            CHECKPOINTS: [{"phase": "Failed"}, {"phase": "Ready"}, {}],
            REQUESTS: [{"phase": "Failed"}, {"phase": "Failed"}],
            MODELS: [{"conditions": [{"type": "Ready", "status": "True"}]}, {}],
        }
        counted = await objects_by_state(site.cache, Meters())
        assert counted == {
            ("DynamoCheckpoint", "Failed"): 0,
            ("DynamoGraphDeploymentRequest", "Failed"): 0,
        }
        for resource, several in statuses.items():
            for number, status in enumerate(several):
                made: Any = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": f"o{number}"}, "spec": {}}
                await site.user.create(resource, {**made, "status": status}, NAMESPACE)
                await site.kubelet.merge_patch(resource, f"o{number}", {"status": status}, NAMESPACE, subresource="status")
        await site.rest()
        counted = await objects_by_state(site.cache, Meters())
        assert counted == {
            ("DynamoCheckpoint", "Failed"): 1,
            ("DynamoCheckpoint", "Ready"): 1,
            ("DynamoCheckpoint", "Pending"): 1,
            ("DynamoGraphDeploymentRequest", "Failed"): 2,
            ("DynamoModel", "ready"): 1,
            ("DynamoModel", "not_ready"): 1,
        }
        named = await objects_by_state(site.cache, Meters(namespaces=True))
        assert {namespace for *_, namespace in named} == {NAMESPACE}
