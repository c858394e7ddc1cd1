"""Images that pods of our Jobs, or of a request's graph, can't pull: a condition, and one Event for each container."""

from typing import Any

from dynamo_webhooks.kube.resources import JOBS, PODS
from dynamo_webhooks.reconciler.workload.pod_states import find_pull_failures, report_pull_failures
from tests.reconciler.checkpoint import test_checkpoint
from tests.reconciler.checkpoint.objects import JOB, checkpoint
from tests.reconciler.request import test_request
from tests.reconciler.site import NAMESPACE, Site
from tests.rows import run_each

MESSAGE = "Back-off pulling image"


async def _pod(site: Site, name: str, reason: str = "ImagePullBackOff", **labels: str) -> None:
    """A pod whose only container waits for a reason."""
    if name not in await site.all(PODS):
        await site.add_pod(name, labels)
    waiting = {"reason": reason, "message": MESSAGE if reason == "ImagePullBackOff" else "not found"}
    status = {"containerStatuses": [{"name": "main", "state": {"waiting": waiting}}]}
    await site.kubelet.merge_patch(PODS, name, {"status": status}, NAMESPACE, subresource="status")


def _pulled(obj: dict[str, Any]) -> dict[str, Any]:
    condition: dict[str, Any] = next((condition for condition in obj["status"]["conditions"] if condition["type"] == "ImagePulled"), {})
    return condition


async def test_the_job_of_a_checkpoint() -> None:
    async with test_checkpoint.scene(checkpoint()) as site:
        await _pod(site, "p", **{"job-name": JOB})
        await site.later(62)
        condition = _pulled(await site.checkpoint())
        assert (condition["status"], condition["reason"]) == ("False", "ImagePullFailed")
        assert condition["message"] == f"pod p container main: ImagePullBackOff: {MESSAGE}"
        await _pod(site, "p", "ErrImagePull", **{"job-name": JOB})  # a kubelet's two words for the same
        await site.later(62)
        assert _pulled(await site.checkpoint())["message"] == condition["message"]
        assert (await site.reasons()).count("ImagePullFailed") == 1
        await site.report(JOBS, JOB, {"ready": 1}, 2)
        assert _pulled(await site.checkpoint()) == {}


async def test_the_job_and_the_graph_of_a_request() -> None:
    async with test_request.asking() as site:
        site.newcomers = 0
        await _pod(site, "p", **{"job-name": test_request.JOB})
        await site.later(135)
        assert _pulled(await site.request())["message"].startswith("pod p container main: ImagePullBackOff")
        assert (await site.told("Profiling"))[1] == "ProfilingRunning"
        assert (await site.reasons()).count("ImagePullFailed") == 1
        await site.find()
        assert (await site.phase(), _pulled(await site.request())) == ("Deploying", {})
        await _pod(site, "q", **{"nvidia.com/dynamo-graph-deployment-name": "req-dgd"})
        await site.later(135)
        assert _pulled(await site.request())["reason"] == "ImagePullFailed"
        assert [text[:5] for _, reason, text in await site.events() if reason == "ImagePullFailed"] == ["pod q"]  # the newest, counted
        site.newcomers = None
        await site.later(5)
        assert await site.phase() == "Deployed"
        assert _pulled(await site.request()) == {}


@run_each("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"])
def test_what_is_no_pull_does_not_count(reason: str) -> None:
    def pod(waiting: Any, **metadata: Any) -> dict[str, Any]:
        return {"metadata": {"name": "p", **metadata}, "status": {"initContainerStatuses": [{"name": "c", "state": {"waiting": waiting}}]}}

    assert find_pull_failures([pod({"reason": reason})]) == [f"pod p container c: {reason}"]
    assert find_pull_failures([pod({"reason": reason}, deletionTimestamp="t"), pod({"reason": "CrashLoopBackOff"}), pod(None)]) == []
    assert find_pull_failures([{"metadata": {"name": "q"}}, {"metadata": {"name": "r"}, "status": {"containerStatuses": [None]}}]) == []


def test_a_further_container_is_one_more_event() -> None:
    first, _ = report_pull_failures({}, ["pod p container a: ErrImagePull"])
    status = {"conditions": [{"type": "ImagePulled", "message": first}]}
    second, events = report_pull_failures(status, ["pod p container a: ImagePullBackOff", "pod p container ab: ErrImagePull"])
    assert [event.message for event in events] == ["pod p container ab: ErrImagePull"]
    assert second == "pod p container a: ImagePullBackOff; pod p container ab: ErrImagePull"
    assert report_pull_failures(status, [])[0] == ""
    many = [f"pod p{number} container c: ErrImagePull: {'x' * 300}" for number in range(100)]
    assert len(report_pull_failures({}, many)[1]) == 5
