"""Asks the API server whose a token is, and whether that user may read metrics. Keeps no answer (see `MetricsAccess`) and no token."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

import orjson

from ...kube.errors import ApiError, ForbiddenError
from ...kube.protocol import Cluster
from ...kube.resources import ACCESS_REVIEWS, TOKEN_REVIEWS, Resource

_LOG: Final = logging.getLogger("webhooks.cluster")
REVIEWS_TIMEOUT_SECONDS: Final = 4.0  # the caller gives up a second later
MAX_CONCURRENT_REVIEWS: Final = 4  # further ones wait
PATH: Final = "/metrics"


async def may_read(cluster: Cluster, token: str) -> bool:
    """Whether the bearer may `get` the path. Raises ApiError if that can't be checked."""
    found = await _review(cluster, TOKEN_REVIEWS, {"token": token})
    if found.get("authenticated") is not True:
        return False
    user = found.get("user") or {}
    attributes = {
        "user": user.get("username", ""),
        "uid": user.get("uid", ""),
        "groups": user.get("groups") or [],
        "extra": user.get("extra") or {},
        "nonResourceAttributes": {"path": PATH, "verb": "get"},
    }
    return (await _review(cluster, ACCESS_REVIEWS, attributes)).get("allowed") is True


async def _review(cluster: Cluster, resource: Resource, spec: dict[str, Any]) -> dict[str, Any]:
    """The status of a review."""
    obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}, "spec": spec}
    return (await cluster.create(resource, obj)).get("status") or {}


class AccessReviewer:
    """Answers the serving process; None means unknown."""

    def __init__(self, report: Callable[[dict[str, Any]], None]) -> None:
        """No review is possible before `cluster` is set."""
        self.cluster: Cluster | None = None
        self._report = report
        self._free = asyncio.Semaphore(MAX_CONCURRENT_REVIEWS)
        self._logged = False
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, question: bytes) -> None:
        """Takes `{"id": ..., "token": ...}` and reports `{"access": {"id": ..., "allowed": ...}}` when that is known."""
        task = asyncio.get_running_loop().create_task(self.answer(orjson.loads(question)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def answer(self, question: dict[str, Any]) -> None:
        """Asks about a question's token, and reports the answer in the form that `take` documents."""
        self._report({"access": {"id": question["id"], "allowed": await self.ask(question["token"])}})

    async def ask(self, token: str) -> bool | None:
        """Whether the bearer may read; None if unknown."""
        try:
            async with asyncio.timeout(REVIEWS_TIMEOUT_SECONDS), self._free:
                return await may_read(self.cluster, token) if self.cluster is not None else None
        except ForbiddenError:
            if not self._logged:
                self._logged = True
                _LOG.error(
                    "reads of metrics are refused: the service account must be allowed to create tokenreviews and subjectaccessreviews"
                )
        except (ApiError, TimeoutError):
            pass  # asked again at the next scrape; the outage is reported elsewhere
        return None
