"""Writes Events: transitions only, counted instead of repeated, and without raising when a write fails."""

import logging
from dataclasses import dataclass
from typing import Any, Final, Literal

from .clocks import LOCAL, Clocks
from .errors import ApiError, NotFoundError, lacks_permission
from .protocol import Cluster, Node
from .resources import CORE_EVENTS
from .times import format_time

LOG: Final = logging.getLogger("kube.events")
_WINDOW_SECONDS: Final = 600.0  # within which the same reason is counted, as kubectl's own recorders do
_MAX_CACHED_EVENTS: Final = 10_000  # beyond that the oldest is forgotten, and its reason written anew
_MAX_MESSAGE_CHARACTERS: Final = 1024  # the API's own limit


@dataclass(slots=True)
class _CachedEvent:
    name: str
    count: int
    at: float


class Recorder:
    """Writes Events in the name of one component."""

    def __init__(self, cluster: Cluster, component: str, *, clocks: Clocks = LOCAL) -> None:
        self._cluster, self._component = cluster, component
        self._clock, self._now = clocks.monotonic, clocks.wall
        self._written: dict[tuple[str, str], _CachedEvent] = {}  # by object and reason
        self._last: dict[str, tuple[str, str]] = {}  # object -> (reason, message) of its newest Event
        self._logged = False  # that the permission is missing

    async def record(
        self, regarding: Node, kind: Literal["Normal", "Warning"], reason: str, message: str, *, lasting: bool = False
    ) -> None:
        """Writes an Event about an object; the same Event again within a short time is no transition and is dropped.

        A `lasting` Event is written once until another Event of the object, or until `over` ends it. Never raises ApiError.
        """
        message = message[:_MAX_MESSAGE_CHARACTERS]
        about = _identity(regarding)
        known = self._written.get((about, reason))
        fresh = known is not None and self._clock() - known.at < _WINDOW_SECONDS
        if (fresh or lasting) and self._last.get(about) == (reason, message):
            _remember(self._last, about, (reason, message))
            return
        try:
            if known is None or not fresh or not await self._count(regarding, known, message):
                await self._create(regarding, kind, reason, message, about)
        except ApiError as error:
            if lacks_permission(error):
                if not self._logged:
                    LOG.warning("Events can't be written; this is logged once: %s", error.message)
                self._logged = True
            else:
                level = logging.INFO if "being terminated" in error.message else logging.WARNING
                LOG.log(level, "an Event was not written (%s %s: %s): %s", reason, about, message, error.message)
            return
        _remember(self._last, about, (reason, message))

    def over(self, regarding: Node) -> None:
        """Forgets the last Event of an object: the same Event is written again."""
        self._last.pop(_identity(regarding), None)

    async def _count(self, regarding: Node, known: _CachedEvent, message: str) -> bool:
        """Counts one more; False when the Event is not there any more."""
        patch = {"count": known.count + 1, "lastTimestamp": format_time(self._now()), "message": message}
        try:
            await self._cluster.merge_patch(CORE_EVENTS, known.name, patch, _namespace_of(regarding))
        except NotFoundError:
            return False
        known.count, known.at = known.count + 1, self._clock()
        return True

    async def _create(self, regarding: Node, kind: str, reason: str, message: str, about: str) -> None:
        metadata, moment = regarding["metadata"], format_time(self._now())
        involved = {"apiVersion": regarding.get("apiVersion"), "kind": regarding.get("kind"), "name": metadata["name"]}
        involved |= {key: metadata[key] for key in ("namespace", "uid", "resourceVersion") if metadata.get(key)}
        made = await self._cluster.create(
            CORE_EVENTS,
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"generateName": f"{metadata['name'][:200]}.", "namespace": _namespace_of(regarding)},
                "involvedObject": involved,
                "type": kind,
                "reason": reason,
                "message": message,
                "source": {"component": self._component},
                "reportingComponent": self._component,
                "reportingInstance": "",
                "firstTimestamp": moment,
                "lastTimestamp": moment,
                "count": 1,
            },
        )
        _remember(self._written, (about, reason), _CachedEvent(made["metadata"]["name"], 1, self._clock()))


def _remember(into: dict[Any, Any], key: Any, value: Any) -> None:
    into.pop(key, None)  # so that the oldest is always the first
    into[key] = value
    if len(into) > _MAX_CACHED_EVENTS:
        del into[next(iter(into))]


def _identity(regarding: Node) -> str:
    metadata = regarding["metadata"]
    return metadata.get("uid") or f"{regarding.get('kind')}/{metadata.get('namespace', '')}/{metadata['name']}"


def _namespace_of(regarding: Node) -> str:
    """The namespace of Events about an object: `default` for one without."""
    return str(regarding["metadata"].get("namespace") or "default")
