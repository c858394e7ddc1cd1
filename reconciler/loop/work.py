"""What all passes share: writes with the permission of the moment, problems, status, Events. Each kind's pass is elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.reconciler.loop.keys import key_of
from dynamo_webhooks.reconciler.loop.kinds import ONCE, resource_of
from dynamo_webhooks.reconciler.loop.marks import FINALIZER
from dynamo_webhooks.reconciler.loop.problems import ContestedError, Problem, StandDownError, TakenError, of_error
from dynamo_webhooks.reconciler.loop.status import difference

if TYPE_CHECKING:
    from datetime import datetime

    from dynamo_webhooks.api.operator.settings import ReconcilerSettings
    from dynamo_webhooks.kube.capability import Presence
    from dynamo_webhooks.kube.events import Recorder
    from dynamo_webhooks.kube.protocol import Cluster, Node
    from dynamo_webhooks.kube.resources import Resource
    from dynamo_webhooks.reconciler.loop.cache import Cache
    from dynamo_webhooks.reconciler.loop.checkpoints import Checkpoints
    from dynamo_webhooks.reconciler.loop.judge import Judge
    from dynamo_webhooks.reconciler.loop.keys import Key
    from dynamo_webhooks.reconciler.loop.models import Models
    from dynamo_webhooks.reconciler.loop.pace import Pace
    from dynamo_webhooks.reconciler.loop.pod_reasons import Reads
    from dynamo_webhooks.reconciler.loop.requests import Requests
    from dynamo_webhooks.reconciler.loop.unattended import Waits
    from dynamo_webhooks.reconciler.loop.write import Writer

SLOWLY: float = 60.0  # seconds until what only a person can mend is tried again


class PassResult(NamedTuple):
    """How a pass ended."""

    problems: tuple[Problem, ...] = ()
    after: float = 0.0  # seconds after which to look again although nothing changed; 0 for not at all

    @property
    def passing(self) -> bool:
        """Whether it is worth trying again soon."""
        return any(problem.passing for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that a pass needs."""

    cluster: Cluster
    cache: Cache
    writer: Writer
    recorder: Recorder
    settings: ReconcilerSettings
    judge: Judge
    may_write: Callable[[str], bool]
    known: Callable[[], Mapping[str, Presence]]  # what the cluster can do
    now: Callable[[], datetime]
    pace: Pace
    later: Callable[[Key, float], None]  # passes over an object once more after so many seconds
    reads: Reads
    waits: Waits
    checkpoints: Checkpoints
    models: Models | None = None  # None where DynamoModels are not reconciled
    keyed: set[str] = field(default_factory=set)  # uids of graphs whose Secret was made, though it may not be read
    lacking: Callable[[str], str] = str  # the permission that a capability lacks; empty when that isn't known
    requests: Requests | None = None  # None where DynamoGraphDeploymentRequests are not reconciled
    lasts: Callable[[Key], bool] = lambda _: False  # whether retries of an object's passes have failed, too, so that it must be told of

    async def put(
        self, child: Node, owner: Node | None, problems: list[Problem], inherits: Callable[[str], bool] = lambda _: False
    ) -> Node | None:
        """Applies a child; what goes wrong becomes a problem, and the others are still applied. See `Writer.put`."""
        what = f"{child['kind']} {child['metadata']['name']}"
        try:
            return await self.writer.put(child, owner, inherits)
        except ApiError as error:
            problems.append(of_error(error, what))
        except TakenError as error:
            problems.append(Problem(str(error), "already_exists"))
        except ContestedError as error:
            problems.append(Problem(str(error), "conflict"))
        return None

    async def patch_status(self, obj: Node, status: Node) -> bool:
        """Makes the status so; whether it was another before. What is mere progress may be left to a later pass.

        Raises: ApiError, StandDownError.
        """
        before = obj.get("status") or {}
        patch = difference(before, status)
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
        """Merges a change into an object or one of its children, and knows it from then on; gives it as it is then.

        Raises: ApiError, StandDownError.
        """
        self.ask(obj)
        made = await self.cluster.merge_patch(resource, name, change, key_of(obj).namespace)
        made = {**made, "apiVersion": resource.api_version, "kind": resource.kind}
        self.cache.wrote(made)
        return made

    async def say(self, obj: Node, kind: Literal["Normal", "Warning"], reason: str, message: str, *, lasting: bool = False) -> None:
        """An Event, once for each change; of what each pass finds again and no status shows, `lasting`."""
        await self.recorder.record(obj, kind, reason, message, lasting=lasting)

    async def prune(self, owner: Node, wanted: set[tuple[str, str]], kept: frozenset[str] = frozenset()) -> None:
        """Deletes children of kinds that are rendered, but not these any more; what holds data stays. Raises: ApiError, StandDownError."""
        for child in self.cache.owned(owner):
            name = child["metadata"]["name"]
            if (child["kind"], name) in wanted or name in kept or child["kind"] in ONCE or child["metadata"].get("deletionTimestamp"):
                continue
            await self.writer.drop(child)
            await self.say(owner, "Normal", f"Deleted{child['kind']}", f"{child['kind']} {name} is not asked for any more")

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

    async def told_repairs(self, owner: Node) -> None:
        """Says which changes by others of an owner's children were undone."""
        for key, others in self.writer.repaired(owner):
            await self.say(owner, "Warning", "DriftRepaired", f"{key.kind} {key.name} was changed by {others}, and is again as rendered")

    def ask(self, obj: Node) -> None:
        """Raises: StandDownError when nothing may be written for the object any more."""
        if not self.may_write(key_of(obj).namespace):
            raise StandDownError(key_of(obj).namespace)
