"""The context that a pass over an object of any kind is given, and what passes of several kinds do with it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ...api.operator.configuration import OperatorConfiguration
from ...kube.capability import Capability, Detector, Presence
from ...kube.clocks import Clocks
from ...kube.errors import ApiError, NotServedError
from ...kube.events import Recorder
from ...kube.protocol import Cluster, Node
from ..common.conditions import IGNORED, condition_of, is_acted_on
from ..common.keys import key_of
from ..common.problems import ContestedError, NameTakenError, Problem, problem_of_error
from ..common.resources import FINALIZER, NEVER_PRUNED, ROUTES, resource_of
from .cache import Cache
from .judge import Judge
from .queue import Queue
from .reads import PodReadLimiter
from .retries import Retries
from .write import Writer


@dataclass(frozen=True, slots=True)
class Context:
    """Clients, caches and settings that passes read and write; a kind that needs more keeps it in its controller."""

    cluster: Cluster
    cache: Cache
    writer: Writer
    recorder: Recorder
    clocks: Clocks
    settings: OperatorConfiguration
    detector: Detector
    judge: Judge
    queue: Queue
    reads: PodReadLimiter
    retries: Retries

    def presence(self, capability: Capability) -> Presence:
        """Whether the cluster serves a capability and permits its use."""
        return self.detector.known[capability.name]

    def may(self, capability: Capability) -> bool:
        """Whether a capability may be used."""
        return self.presence(capability) is Presence.USABLE

    async def put(
        self, child: Node, owner: Node | None, problems: list[Problem], inherits: Callable[[str], bool] = lambda _: False
    ) -> Node | None:
        """Apply a child; an error becomes a problem, so that the other children are still applied. See `Writer.put`.

        An API that vanished beside a running owner is an Event: what runs is not failed for it.
        """
        try:
            return await self.writer.put(child, owner, inherits)
        except NotServedError as error:
            problem = problem_of_error(error, f"{child['kind']} {child['metadata']['name']}")
            if owner is not None and child["kind"] in ROUTES and is_acted_on(owner):
                await self.record_event(owner, "Warning", "NotServed", problem.text, lasting=True)
            else:
                problems.append(problem)
        except ApiError as error:
            problems.append(problem_of_error(error, f"{child['kind']} {child['metadata']['name']}"))
        except NameTakenError as error:
            problems.append(Problem(str(error), "already_exists"))
        except ContestedError as error:
            problems.append(Problem(str(error), "conflict"))
        return None

    async def record_event(
        self, obj: Node, kind: Literal["Normal", "Warning"], reason: str, message: str, *, lasting: bool = False
    ) -> None:
        """Record an Event, once for each change; `lasting` if each pass finds it again and no status shows it."""
        await self.recorder.record(obj, kind, reason, message, lasting=lasting)

    async def prune(self, owner: Node, wanted: set[tuple[str, str]], kept_names: frozenset[str] = frozenset()) -> None:
        """Delete children that are no longer rendered, unless they hold data. Raises: ApiError, StandDownError."""
        for child in self.cache.owned(owner):
            name = child["metadata"]["name"]
            if (
                (child["kind"], name) in wanted
                or name in kept_names
                or child["kind"] in NEVER_PRUNED
                or child["metadata"].get("deletionTimestamp")
            ):
                continue
            try:
                await self.writer.drop(child)
            except NotServedError:  # it went with its kind
                continue
            await self.record_event(owner, "Normal", f"Deleted{child['kind']}", f"{child['kind']} {name} is not asked for any more")

    async def finalize_deleted(self, obj: Node) -> bool:
        """Whether an object is being deleted; the Go operator's finalizer is removed then, this reconciler uses none.

        Raises: ApiError, StandDownError.
        """
        if not obj["metadata"].get("deletionTimestamp"):
            return False
        finalizers = obj["metadata"].get("finalizers") or []
        if FINALIZER in finalizers:
            self.writer.check_may_write(obj)
            key = key_of(obj)
            at = f"/metadata/finalizers/{finalizers.index(FINALIZER)}"
            steps = [{"op": "test", "path": at, "value": FINALIZER}, {"op": "remove", "path": at}]
            await self.cluster.json_patch(resource_of(obj), key.name, steps, key.namespace)
        return True

    async def report_ignored(self, obj: Node, before: Node, now: Node) -> None:
        """Record an Event if the status newly lists fields without effect."""
        condition = condition_of(now, IGNORED)
        if condition and condition["message"] != condition_of(before, IGNORED).get("message"):
            await self.record_event(obj, "Warning", "NotActedOn", condition["message"])

    async def report_repairs(self, owner: Node) -> None:
        """Record which changes by others of an owner's children were undone."""
        for key, others in self.writer.pop_repairs(owner):
            await self.record_event(
                owner, "Warning", "DriftRepaired", f"{key.kind} {key.name} was changed by {others}, and is again as rendered"
            )
