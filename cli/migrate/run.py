"""A whole run: plan, storage, the wait for all API servers, passes until one moves nothing, and what is written down of it then."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from dynamo_webhooks.api.crd_manifest import ALLOW_DATA_LOSS
from dynamo_webhooks.cli.migrate import flip
from dynamo_webhooks.cli.migrate.listing import SLOWEST, Outage
from dynamo_webhooks.cli.migrate.offline import REFUSED
from dynamo_webhooks.cli.migrate.options import Stopped
from dynamo_webhooks.cli.migrate.preflight import Plan, planned, resource_of, unfit
from dynamo_webhooks.cli.migrate.progress import Progress
from dynamo_webhooks.cli.migrate.report import KindReport, Notes, Report
from dynamo_webhooks.cli.migrate.retire import named_by
from dynamo_webhooks.cli.migrate.servers import agreed
from dynamo_webhooks.cli.migrate.walk import Counts, Pass
from dynamo_webhooks.kube.backoff import Backoff
from dynamo_webhooks.kube.errors import ApiError, ConflictError, NotFoundError, UnavailableError
from dynamo_webhooks.kube.storage_versions import load_definition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.migrate.options import Hands
    from dynamo_webhooks.kube.storage_versions import Definition

Answer = TypeVar("Answer")
_PASSES: Final = 10  # over one kind, before a run gives up to prove that nothing moves any more
_ROUNDS: Final = 3  # times that the definitions may be changed by others meanwhile


class _ChangedError(Exception):
    """A definition is not what it was when the pass began: what the pass has seen proves nothing."""


class _UnfitError(Exception):
    """A definition was changed so that writes would lose data."""


class Run:
    """One run and its report."""

    def __init__(self, hands: Hands, progress: Progress) -> None:
        """Begins with an empty report."""
        self._hands, self._progress = hands, progress
        self._outage = Outage(hands)
        self.report = Report(hands.options.to, hands.options.namespace, hands.options.dry_run)

    async def run(self, retire: str | None = None) -> Report:
        """Does everything that was asked for, as far as it gets; `retire` is a version whose managers are listed at the end."""
        began, report = monotonic(), self.report
        try:
            plan = await planned(self._hands, self._outage, report, self._progress.census)
            self._progress.end()
            if not report.blocked and not report.dry_run:
                await self._move(plan)
            if retire is not None and not report.blocked:
                report.retire = await named_by(self._hands, retire)
        except Stopped:
            report.stopped = True
        except ApiError as error:
            report.failed, report.unreachable = error.message, isinstance(error, UnavailableError)
        finally:
            self._progress.end()
            report.seconds = monotonic() - began
        return report

    async def _move(self, plan: Plan) -> None:
        for each in self.report.kinds:
            each.moved = each.already_there = 0
            each.stored_after = each.stored_before
        for _ in range(_ROUNDS):
            try:
                await self._round(plan)
            except _UnfitError as error:
                self.report.failed = str(error)
                return
            except (_ChangedError, ConflictError) as error:
                self._hands.say(f"begun anew, because a definition was changed meanwhile: {error}")
            else:
                return
        self.report.failed = "the definitions were changed again and again by others; see who applies them, and run it again"

    async def _round(self, plan: Plan) -> None:
        """Raises: _ChangedError or ConflictError, after which everything is to be looked at anew; _UnfitError."""
        options, todo = self._hands.options, []
        for found in plan.definitions:
            now = await self._guarded(await self._read(found.name))
            if reasons := [f"{now.name}: {reason}" for reason in unfit(now, self._hands, plan.line)]:
                raise _UnfitError("; ".join(reasons))
            if now.storage != options.to:
                now = await self._patient(partial(flip.store_in, self._hands.cluster, now, options.to))
                self._hands.say(f"{now.name}: new writes are stored in {options.to}")
            todo.append(now)
        since = await agreed(self._hands, todo, self.report)
        self._outage.begin()
        reports = {each.kind: each for each in self.report.kinds}
        for found in todo:
            if not options.verify and not reports[found.kind].passes:
                await self._pass(found, reports[found.kind], plan.line)
        await self._hands.sleep(since + options.settle - monotonic())
        self._outage.begin()
        for found in todo:
            await self._prove(found, reports[found.kind], plan.line)
            live = await self._read(found.name)
            reports[found.kind].storage_after, reports[found.kind].stored_after = live.storage, [*live.stored]

    async def _guarded(self, now: Definition) -> Definition:
        """Takes back what a run that was killed between the flip and its end has left: updates that lose data would be accepted."""
        if self._hands.options.verify or (guarded := await self._patient(partial(flip.withdrawn, self._hands.cluster, now))) is now:
            return now
        self._hands.say(f"{now.name}: {ALLOW_DATA_LOSS} is taken back, which an earlier run left")
        return guarded

    async def _prove(self, found: Definition, one: KindReport, line: Line) -> None:
        """Passes until one moves nothing, which proves it."""
        for _ in range(_PASSES):
            read = await self._read(found.name)
            if read.storage != self._hands.options.to:
                raise _ChangedError(f"{read.name} stores new writes in {read.storage}")
            counts = await self._pass(read, one, line)
            if not counts.moved:
                await self._still(read, line)
                break
        else:
            self.report.failed = f"{one.kind}: objects still moved in pass {one.passes}; see what writes them in another version"
            return
        if counts.refused or self._hands.options.verify:
            one.proven = not counts.refused
            return
        one.proven = True
        if not self._hands.options.namespace:
            await self._settle(read, one)

    async def _settle(self, read: Definition, one: KindReport) -> None:
        """Writes down what is proven. A definition whose status alone was changed meanwhile is read again."""
        cluster, to = self._hands.cluster, self._hands.options.to
        for _ in range(_PASSES):
            try:
                await self._patient(partial(flip.name_stored, cluster, read, to))
                break
            except ConflictError:
                now = await self._read(read.name)
                if now.generation != read.generation:
                    one.proven = False
                    raise _ChangedError(f"{now.name} has generation {now.generation}, and had {read.generation}") from None
                read = now
        now = await self._read(read.name)
        if now.generation == read.generation:
            await self._patient(partial(flip.observe, cluster, now))

    async def _pass(self, found: Definition, one: KindReport, line: Line) -> Counts:
        """Walks over a kind once and adds what was met to its report."""

        async def still() -> None:
            await self._still(found, line)

        began = monotonic()
        self._progress.begin(one.kind, one.passes + 1, one.objects)
        walk = Pass(self._hands, self._outage, resource_of(found, self._hands.options.to), self._progress.walked, still)
        try:
            return await walk.run()
        finally:
            self._progress.end()
            one.seconds += monotonic() - began if walk.counts.moved else 0.0
            _added(one, walk, self._hands.options.to)

    async def _still(self, begun: Definition, line: Line) -> None:
        """Raises: _ChangedError when writes would be stored otherwise than when the pass began, or would lose fields. One read."""
        now = await self._read(begun.name)
        if now.generation != begun.generation and (now.storage != self._hands.options.to or any(unfit(now, self._hands, line))):
            raise _ChangedError(f"{now.name} has generation {now.generation}, and had {begun.generation}")

    async def _patient(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        """Asks again while nothing answers. Raises: ApiError, UnavailableError after the run's patience; Stopped."""
        backoff = Backoff(0.2, SLOWEST)
        while True:
            try:
                answer = await call()
            except UnavailableError as error:
                await self._outage.wait(error, backoff)
            else:
                self._outage.succeeded()
                return answer

    async def _read(self, name: str) -> Definition:
        found = await self._patient(partial(load_definition, self._hands.cluster, name))
        if found is None:
            raise NotFoundError(404, "NotFound", f"{name}: the CustomResourceDefinition is not there any more")
        return found


def _added(one: KindReport, walk: Pass, to: str) -> None:
    counts, first = walk.counts, not one.passes
    one.passes += 1
    one.objects = counts.objects
    one.moved = (one.moved or 0) + counts.moved
    one.written_by_others += counts.others if first else 0
    one.already_there = counts.there if first else one.already_there
    if first and one.storage_before == to and one.stored_before == [to]:
        one.untrue = counts.moved
    one.refused = counts.refused
    refused = {note.object: note for note in walk.notes.items}
    known = {note.object for note in one.notes.of(REFUSED)}
    kept = Notes()
    for note in one.notes.items:
        if note.matter != REFUSED or note.object in refused:
            kept.add(note)
    for name, note in refused.items():
        if name not in known:
            kept.add(note)
    kept.counts = {**one.notes.counts, **({REFUSED: counts.refused} if counts.refused else {})}
    if not counts.refused:
        kept.counts.pop(REFUSED, None)
    one.notes = kept
