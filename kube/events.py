"""Writes Events for people to read with `kubectl describe`: transitions only, counted instead of repeated, never in anybody's way."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from dynamo_webhooks.kube.errors import ApiError, ForbiddenError, NotFoundError
from dynamo_webhooks.kube.resources import CORE_EVENTS
from dynamo_webhooks.kube.times import now as local_now
from dynamo_webhooks.kube.times import seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from dynamo_webhooks.kube.protocol import Cluster, Node

LOG: Final = logging.getLogger("kube.events")
_WINDOW: Final = 600.0  # seconds within which the same reason is counted, as kubectl's own recorders do
_REMEMBERED: Final = 10_000  # Events; beyond that the oldest is forgotten, and its reason written anew
_LONGEST: Final = 1024  # characters of a message, the API's own limit

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(slots=True)
class _Written:
    name: str
    count: int
    at: float


class Recorder:
    """Writes Events in the name of one component."""

    def __init__(
        self,
        cluster: Cluster,
        component: str,
        instance: str = "",
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        """`instance` names the replica; it is empty where that is nobody's business."""
        self._cluster, self._component, self._instance = cluster, component, instance
        self._clock, self._now = clock, now
        self._written: OrderedDict[tuple[str, str], _Written] = OrderedDict()  # by object and reason
        self._last: OrderedDict[str, tuple[str, str]] = OrderedDict()  # object -> (reason, message) of its newest Event
        self._told = False  # that the permission is missing

    async def record(
        self, regarding: Node, kind: Literal["Normal", "Warning"], reason: str, message: str, *, lasting: bool = False
    ) -> None:
        """Tells that something happened to an object; saying the same again right afterwards is no transition and writes nothing.

        What is `lasting` is said once until something else is said of the object, or `over` ends it.

        Never raises for what the API server says: an Event is news, not work.
        """
        message = message[:_LONGEST]
        about = _identity(regarding)
        known = self._written.get((about, reason))
        fresh = known is not None and self._clock() - known.at < _WINDOW
        if (fresh or lasting) and self._last.get(about) == (reason, message):
            self._last.move_to_end(about)
            return
        try:
            if known is None or not fresh or not await self._count(regarding, known, message):
                await self._create(regarding, kind, reason, message, about)
        except ForbiddenError as error:
            if not self._told:
                self._told = True
                LOG.warning("Events can't be written, and this is said once: %s", error.message)
            return
        except ApiError as error:
            LOG.warning("an Event was not written (%s %s: %s): %s", reason, about, message, error.message)
            return
        _remember(self._last, about, (reason, message))

    def over(self, regarding: Node) -> None:
        """What was last said of an object holds no longer: the same again is news."""
        self._last.pop(_identity(regarding), None)

    async def _count(self, regarding: Node, known: _Written, message: str) -> bool:
        """Counts one more; False when the Event is not there any more."""
        patch = {"count": known.count + 1, "lastTimestamp": seconds(self._now()), "message": message}
        try:
            await self._cluster.merge_patch(CORE_EVENTS, known.name, patch, _where(regarding))
        except NotFoundError:
            return False
        known.count, known.at = known.count + 1, self._clock()
        return True

    async def _create(self, regarding: Node, kind: str, reason: str, message: str, about: str) -> None:
        metadata, moment = regarding["metadata"], seconds(self._now())
        involved = {"apiVersion": regarding.get("apiVersion"), "kind": regarding.get("kind"), "name": metadata["name"]}
        involved |= {key: metadata[key] for key in ("namespace", "uid", "resourceVersion") if metadata.get(key)}
        made = await self._cluster.create(
            CORE_EVENTS,
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"generateName": f"{metadata['name'][:200]}.", "namespace": _where(regarding)},
                "involvedObject": involved,
                "type": kind,
                "reason": reason,
                "message": message,
                "source": {"component": self._component, **({"host": self._instance} if self._instance else {})},
                "reportingComponent": self._component,
                "reportingInstance": self._instance,
                "firstTimestamp": moment,
                "lastTimestamp": moment,
                "count": 1,
            },
        )
        _remember(self._written, (about, reason), _Written(made["metadata"]["name"], 1, self._clock()))


def _remember(into: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    into[key] = value
    into.move_to_end(key)
    while len(into) > _REMEMBERED:
        into.popitem(last=False)


def _identity(regarding: Node) -> str:
    metadata = regarding["metadata"]
    return metadata.get("uid") or f"{regarding.get('kind')}/{metadata.get('namespace', '')}/{metadata['name']}"


def _where(regarding: Node) -> str:
    """The namespace of Events about an object: `default` for one without."""
    return str(regarding["metadata"].get("namespace") or "default")
