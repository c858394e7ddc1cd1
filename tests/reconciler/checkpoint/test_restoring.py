"""Line 1.5 has no DynamoCheckpoints: a graph names a PodSnapshot, which is read and never touched, and says what comes of it."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import DEPLOYMENTS
from dynamo_webhooks.reconciler.checkpoint.restoring import POD_SNAPSHOTS
from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, CLIQUE_SETS, GRAPHS, JOBS
from dynamo_webhooks.reconciler.render.children import render_direct
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.checkpoint.objects import checkpoint
from tests.reconciler.checkpoint.test_checkpoint import Scene, claim
from tests.reconciler.checkpoint.test_snapshots import IDENTITY, RESTORING
from tests.reconciler.rendering import graph, vllm
from tests.reconciler.site import GROVE_API, NAMESPACE, settings
from tests.rows import run_each


def _graph(**fields: Any) -> Node:
    return graph(vllm("w", main={"image": "img:1.5.0"}, replicas=1, experimental={"checkpoint": {"enabled": True, **fields}}))


def _snapshot(*containers: str) -> Node:
    spec = {"source": {"podRef": {"containers": [*containers]}}}
    return {"apiVersion": POD_SNAPSHOTS.api_version, "kind": POD_SNAPSHOTS.kind, "metadata": {"name": "snap"}, "spec": spec}


@contextlib.asynccontextmanager
async def _scene(*objects: Node, snapshot: Node | None = None, more: str = RESTORING, grove: bool = False) -> AsyncIterator[Scene]:
    """A cluster whose operator is of line 1.5, at rest."""
    site = Scene(settings(more, "1.5.0")).serve(GROVE_API if grove else {})
    await site.put(claim())
    if snapshot is not None:
        await site.user.create(POD_SNAPSHOTS, snapshot, NAMESPACE)
    for obj in objects:
        await site.user.create(GRAPHS if obj["kind"] == "DynamoGraphDeployment" else CHECKPOINTS, obj, NAMESPACE)
    async with site.running(seconds=40):
        yield site


async def _told(site: Scene) -> tuple[str, str]:
    condition = await site.condition(kind="Restore")
    assert condition["status"] == "False"
    return condition["reason"], condition["message"]


@run_each("fields", [{}, {"identity": IDENTITY}, {"startupPolicy": "WaitForCheckpoint"}])
@run_each("grove", [False, True])
async def test_no_snapshot_is_taken_and_the_graph_says_why(fields: Node, *, grove: bool) -> None:
    async with _scene(_graph(**fields), grove=grove) as site:
        reason, text = await _told(site)
        assert reason == "RestoreUnavailable"
        assert text == (
            "w: has no effect: only the Go operator takes snapshots by SnapshotJobs, whose fields are not known here; pods start cold"
        )
        assert (await site.condition(kind="FieldsIgnored"))["message"].startswith("spec.components[0].experimental.checkpoint: ")
        assert "checkpoints" not in (await site.graph())["status"]
        assert await site.all(CHECKPOINTS) == await site.all(JOBS) == {}
        made = (await site.all(CLIQUE_SETS if grove else DEPLOYMENTS)).values()
        assert len(made) == 1
        assert all(obj["spec"].get("replicas") == 1 for obj in made)
        assert await site.writes_within(90) == []


@run_each(
    ("snapshot", "reason", "text"),
    [
        (None, "CheckpointMissing", "PodSnapshot snap is not there"),
        (_snapshot("main"), "RestoreUnavailable", "PodSnapshot snap is there: has no effect: only the Go operator restores pods"),
        (_snapshot("side"), "RestoreUnavailable", "PodSnapshot snap is of container side, the component restores main"),
    ],
)
async def test_a_graph_says_of_the_snapshot_that_it_names_what_can_be_known(snapshot: Node | None, reason: str, text: str) -> None:
    async with _scene(_graph(checkpointRef="snap"), snapshot=snapshot) as site:
        answer = await _told(site)
        assert answer[0] == reason
        assert answer[1].startswith(f"w: {text}")
        assert (await site.graph())["status"]["state"] == "successful"
        now = await site.user.get(POD_SNAPSHOTS, "snap", NAMESPACE)
        assert (now is None) == (snapshot is None)
        assert now is None or (now["spec"] == _snapshot(*now["spec"]["source"]["podRef"]["containers"])["spec"])
        assert now is None or "ownerReferences" not in now["metadata"]


@run_each("grove", [False, True])
async def test_a_snapshot_that_comes_later_is_seen(*, grove: bool) -> None:
    async with _scene(_graph(checkpointRef="snap"), grove=grove) as site:
        assert (await _told(site))[0] == "CheckpointMissing"
        await site.create(POD_SNAPSHOTS, _snapshot("main"), 62)
        assert (await _told(site))[0] == "RestoreUnavailable"


async def test_a_missing_permission_names_the_overlay() -> None:
    async with _scene() as site:
        site.cluster.denied.add(("get", "podsnapshots"))
        await site.make(_graph(checkpointRef="snap"))
        await site.later(5)
        reason, text = await _told(site)
        assert reason == "Forbidden"
        assert "components/checkpoints" in text


@run_each("status", [{}, {"phase": "Ready", "conditions": [{"type": "JobCompleted", "status": "True"}]}])
async def test_an_old_checkpoint_takes_no_snapshot_and_says_so(status: Node) -> None:
    async with _scene({**checkpoint(), "status": status}) as site:
        await site.later(62)
        [obj] = (await site.all(CHECKPOINTS)).values()
        assert [condition["message"] for condition in obj["status"]["conditions"] if condition["type"] == "Reconciled"] == [
            "operator 1.5 and later have no DynamoCheckpoints: nothing acts on it, and no pod is restored from it; delete it"
        ]
        assert await site.all(JOBS) == {}
    made = render_direct(checkpoint(), Settings(operator_version="1.5.0"))
    assert str(made.problems[0]).startswith("kind: must not be DynamoCheckpoint")
    assert render_direct(checkpoint(), Settings(operator_version="1.4.0")).problems == []
