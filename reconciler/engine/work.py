"""What all passes share: writes with the permission of the moment, problems, status, Events; and how often something is done.

Status is written at most once a second for mere progress, and what fails is tried less and less often. Each kind's pass is elsewhere.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ...kube.errors import ApiError
from ..common.conditions import IGNORED, RECONCILING, condition_of, status_patch
from ..common.keys import Key, key_of
from ..common.problems import ContestedError, Problem, StandDownError, TakenError, problem_of_error
from ..common.resources import FINALIZER, KEPT, resource_of

if TYPE_CHECKING:
    from datetime import datetime

    from ...api.operator.configuration import OperatorConfiguration
    from ...kube.capability import Presence
    from ...kube.events import Recorder
    from ...kube.protocol import Cluster, Node
    from ...kube.resources import Resource
    from ..checkpoint.index import Checkpoints
    from ..model.shared import Models
    from ..request.shared import Requests
    from ..workload.pods import Reads
    from .cache import Cache
    from .cluster_settings import Judge
    from .switches import Waits
    from .write import Writer


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that a pass needs."""

    cluster: Cluster
    cache: Cache
    writer: Writer
    recorder: Recorder
    settings: OperatorConfiguration
    judge: Judge
    may_write: Callable[[str], bool]
    known: Callable[[], Mapping[str, Presence]]  # what the cluster can do
    now: Callable[[], datetime]
    pace: Pace
    later: Callable[[Key, float], None]  # passes over an object once more after so many seconds
    reads: Reads
    waits: Waits
    checkpoints: Checkpoints
    retries: Retries  # replacements of pods that ended
    models: Models | None = None  # None where DynamoModels are not reconciled
    keyed: set[str] = field(default_factory=set)  # uids of graphs whose Secret was made, though it may not be read
    lacking: Callable[[str], str] = str  # the permission that a capability lacks; empty when that isn't known
    requests: Requests | None = None  # None where DynamoGraphDeploymentRequests are not reconciled
    lasts: Callable[[Key], bool] = lambda _: False  # whether retries of an object's passes have failed, too, so that it must be told of

    async def put(
        self, child: Node, owner: Node | None, problems: list[Problem], inherits: Callable[[str], bool] = lambda _: False
    ) -> Node | None:
        """Applies a child; what goes wrong becomes a problem, and the others are still applied. See `Writer.put`."""
        try:
            return await self.writer.put(child, owner, inherits)
        except ApiError as error:
            problems.append(problem_of_error(error, f"{child['kind']} {child['metadata']['name']}"))
        except TakenError as error:
            problems.append(Problem(str(error), "already_exists"))
        except ContestedError as error:
            problems.append(Problem(str(error), "conflict"))
        return None

    async def patch_status(self, obj: Node, status: Node) -> bool:
        """Makes the status so, mere progress perhaps later; whether it was another before. Raises: ApiError, StandDownError."""
        before = obj.get("status") or {}
        patch = status_patch(before, status)
        if patch is None:
            return False
        self.ask(obj)
        key = key_of(obj)
        if (seconds := self.pace.wait(key, before, status)) > 0:
            self.later(key, seconds)
            return False
        with self.cache.writing(key):
            made = await self.cluster.merge_patch(resource_of(obj), key.name, {"status": patch}, key.namespace, subresource="status")
            self.cache.wrote(made)
        return True

    async def merge(self, obj: Node, resource: Resource, name: str, change: Node) -> Node:
        """Merges a change into an object or one of its children; returns what is known from then on. Raises: ApiError, StandDownError."""
        self.ask(obj)
        made = await self.cluster.merge_patch(resource, name, change, key_of(obj).namespace)
        self.cache.wrote(made)
        return made

    async def patch_metadata(self, obj: Node, metadata: Node) -> Node:
        """Merges a change into an object's metadata; returns the object. Raises: ApiError, StandDownError."""
        return await self.merge(obj, resource_of(obj), key_of(obj).name, {"metadata": metadata})

    async def say(self, obj: Node, kind: Literal["Normal", "Warning"], reason: str, message: str, *, lasting: bool = False) -> None:
        """An Event, once for each change; of what each pass finds again and no status shows, `lasting`."""
        await self.recorder.record(obj, kind, reason, message, lasting=lasting)

    async def prune(self, owner: Node, wanted: set[tuple[str, str]], kept: frozenset[str] = frozenset()) -> None:
        """Deletes children of kinds that are rendered, but not these any more; what holds data stays. Raises: ApiError, StandDownError."""
        for child in self.cache.owned(owner):
            name = child["metadata"]["name"]
            if (child["kind"], name) in wanted or name in kept or child["kind"] in KEPT or child["metadata"].get("deletionTimestamp"):
                continue
            await self.writer.drop(child)
            await self.say(owner, "Normal", f"Deleted{child['kind']}", f"{child['kind']} {name} is not asked for any more")

    async def let_go_deleted(self, obj: Node) -> bool:
        """Whether an object is being deleted, of which there is nothing more to do than `let_go`. Raises: ApiError, StandDownError."""
        if not obj["metadata"].get("deletionTimestamp"):
            return False
        await self.let_go(obj)
        return True

    async def let_go(self, obj: Node) -> None:
        """Takes the Go operator's finalizer from an object that is being deleted: nobody else would, and we need none."""
        finalizers = obj["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers:
            return
        self.ask(obj)
        key = key_of(obj)
        at = f"/metadata/finalizers/{finalizers.index(FINALIZER)}"
        steps = [{"op": "test", "path": at, "value": FINALIZER}, {"op": "remove", "path": at}]
        await self.cluster.json_patch(resource_of(obj), key.name, steps, key.namespace)

    async def report_ignored(self, obj: Node, before: Node, now: Node) -> None:
        """An Event when a status says something new of fields that nothing acts on."""
        told = condition_of(now, IGNORED)
        if told and told["message"] != condition_of(before, IGNORED).get("message"):
            await self.say(obj, "Warning", "NotActedOn", told["message"])

    async def report_repairs(self, owner: Node) -> None:
        """Says which changes by others of an owner's children were undone."""
        for key, others in self.writer.repaired(owner):
            await self.say(owner, "Warning", "DriftRepaired", f"{key.kind} {key.name} was changed by {others}, and is again as rendered")

    def ask(self, obj: Node) -> None:
        """Raises: StandDownError when nothing may be written for the object any more."""
        if not self.may_write(key_of(obj).namespace):
            raise StandDownError(key_of(obj).namespace)


HELD: Final = 1.0  # maximum delay of progress in seconds
_KEPT: Final = 60.0  # seconds to remember a write, longer than a pass may wait for its turn
_FIGURES: Final = frozenset({"component", "components", "conditions"})  # conditions are compared separately, without messages
FIRST: Final = 10.0  # seconds before the second try; the first one is at once
MOST: Final = 300.0  # maximum seconds between tries
CALM: Final = 600.0  # seconds after which a try no longer counts
REMEMBERED: Final = 5000  # what is forgotten earlier is tried at once


class Pace:
    """Remembers recent writes of each object's status."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[Key, float] = {}  # oldest first; for an object without a status, when one was first delayed

    def __len__(self) -> int:
        return len(self._last)

    def wait(self, key: Key, before: Node, now: Node) -> float:
        """The delay of a changed status in seconds; 0 to write at once."""
        moment = self._clock()
        begins = not before and _is_beginning(now)
        last = self._last.get(key, moment if begins else -math.inf)
        left = last + HELD - moment
        if left <= 0 or not (begins or _told(before) == _told(now)):
            while self._last and moment - self._last[oldest := next(iter(self._last))] >= _KEPT:
                del self._last[oldest]
            self._last.pop(key, None)
            self._last[key] = moment
            return 0.0
        self._last.setdefault(key, last)
        return left


def _is_beginning(now: Node) -> bool:
    """Whether a first status only reports that work began."""
    found = now.get("conditions") or ()
    quiet = all(one["status"] != "True" and one["reason"] != RECONCILING for one in found)
    return bool(found) and quiet and now.get("state", "pending") == "pending"


def _told(status: Node) -> Node:
    """A status without numbers and messages."""
    conditions = [(one.get("type"), one.get("status"), one.get("reason")) for one in status.get("conditions") or ()]
    return {**{name: value for name, value in status.items() if name not in _FIGURES}, "conditions": conditions}


class Tries(NamedTuple):
    """The recent tries at one thing."""

    times: int = 0
    last: float = 0.0
    why: str = ""  # of the last one

    @property
    def pause(self) -> float:
        """Seconds between the last try and the next."""
        return min(MOST, FIRST * 2.0 ** (self.times - 1)) if self.times else 0.0


class Retries:
    """Counts tries at things by their names."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tries: OrderedDict[tuple[str, ...], Tries] = OrderedDict()

    def find(self, name: tuple[str, ...]) -> Tries:
        """The recent tries."""
        tries = self._tries.get(name, Tries())
        return tries if self._clock() - tries.last < CALM else Tries()

    def left(self, name: tuple[str, ...]) -> float:
        """Seconds until the next try; 0 for now."""
        tries = self.find(name)
        return max(0.0, tries.last + tries.pause - self._clock()) if tries.times else 0.0

    def note(self, name: tuple[str, ...], why: str) -> None:
        """A try was made."""
        self._tries[name] = Tries(self.find(name).times + 1, self._clock(), why)
        self._tries.move_to_end(name)
        if len(self._tries) > REMEMBERED:
            self._tries.popitem(last=False)
