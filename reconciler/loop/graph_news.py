"""Writes a graph's status, and says in Events what of it is news."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.loop.clique_status import PLACED
from dynamo_webhooks.reconciler.loop.graph_status import READY
from dynamo_webhooks.reconciler.loop.ignored import say_ignored
from dynamo_webhooks.reconciler.loop.restoring import say_standing
from dynamo_webhooks.reconciler.loop.status import found

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.generations import Roll
    from dynamo_webhooks.reconciler.loop.work import Work


async def tell(work: Work, obj: Node, status: Node, roll: Roll) -> None:
    """Makes the status so, and says what has changed. Raises: ApiError, StandDownError."""
    before, now = obj.get("status") or {}, status
    if not await work.patch_status(obj, status):
        return
    was, became = found(before, READY), found(now, READY)
    if (was.get("status"), was.get("reason"), was.get("message")) != (became["status"], became["reason"], became["message"]):
        failed = now["state"] == "failed"
        begins = not was and now["state"] == "pending"  # that nothing is ready yet is no news
        if failed or (was.get("reason") != became["reason"] and not begins):
            await work.say(obj, "Warning" if failed else "Normal", _camel(became["reason"]), became["message"])
    await say_standing(work, obj, before, now)
    await say_ignored(work, obj, before, now)
    lost = found(now, PLACED)
    if lost.get("status") == "False" and lost["reason"] != found(before, PLACED).get("reason"):
        await work.say(obj, "Warning", lost["reason"], f"Topology constraints no longer enforced: {lost['message']}")
    phases = (before.get("rollingUpdate") or {}).get("phase"), (now.get("rollingUpdate") or {}).get("phase")
    if phases[0] != phases[1]:
        reason = {"InProgress": "RollingUpdateStarted", "Completed": "RollingUpdateCompleted"}[str(phases[1])]
        await work.say(obj, "Normal", reason, f"workers of generation {roll.name}")
    if (now.get("restart") or {}).get("phase") == "Superseded" and now["restart"] != before.get("restart"):
        await work.say(
            obj, "Warning", "RestartSuperseded", f"restart {now['restart']['observedID']}: a rolling update restarts the workers"
        )


def _camel(reason: str) -> str:
    return "".join(part.capitalize() for part in reason.split("_"))
