"""A whole run: plan, storage, the wait for all API servers, passes until one moves nothing, and the status written then."""

from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import Final, TypeVar

from ....api.crd import ALLOW_DATA_LOSS
from ....api.line import Line
from ....kube.clocks import Backoff
from ....kube.errors import ApiError, ConflictError, NotFoundError, UnavailableError
from ....kube.resources import resource_of_kind
from ....kube.storage_versions import Definition, load_definition
from . import definition
from .context import MigrationContext, Stopped
from .listing import MAX_PAUSE_SECONDS, Outage, count_by_manager
from .offline import REFUSED
from .preflight import find_obstacles, make_plan
from .progress import Progress
from .report import KindReport, MigrationReport, ObjectNotes, PassCounts
from .rewrite_all import RewritePass

Answer = TypeVar("Answer")
_MAX_PASSES: Final = 10  # over one kind, before a run gives up to prove that nothing moves any more
_MAX_ROUNDS: Final = 3  # times that the definitions may be changed by others meanwhile


class _ChangedError(Exception):
    """A definition changed during the pass, whose results are therefore void."""


class MigrationRun:
    """One run and its report."""

    def __init__(self, context: MigrationContext, progress: Progress) -> None:
        self._context, self._progress = context, progress
        self._outage = Outage(context)
        self.report = MigrationReport(context.options.to, context.options.namespace, context.options.dry_run)

    async def run(self, retire: str | None = None) -> MigrationReport:
        """Does everything that was asked for, as far as it gets; `retire` is a version whose managers are listed at the end."""
        began, report = monotonic(), self.report
        try:
            definitions, line = await make_plan(self._context, self._outage, report, self._progress.census)
            if not report.blocked and not report.dry_run:
                await self._move(definitions, line)
            if retire is not None and not report.blocked:
                report.retire = await count_by_manager(self._context, retire)
        except Stopped:
            report.stopped = True
        except ApiError as error:
            report.failed, report.unreachable = error.message, isinstance(error, UnavailableError)
        finally:
            report.seconds = monotonic() - began
        return report

    async def _move(self, definitions: list[Definition], line: Line) -> None:
        for each in self.report.kinds:
            each.moved = each.already_there = 0
            each.stored_after = each.stored_before
        for _ in range(_MAX_ROUNDS):
            try:
                await self._round(definitions, line)
            except (_ChangedError, ConflictError) as error:
                self._context.say(f"started again, because a definition was changed meanwhile: {error}")
            else:
                return
        self.report.failed = "the definitions were changed again and again by others; see who applies them, and run it again"

    async def _round(self, definitions: list[Definition], line: Line) -> None:
        """Ends early where writes would lose data. Raises: _ChangedError or ConflictError, after which all is to be looked at anew."""
        options, todo, unsettled = self._context.options, [], []
        for crd in definitions:
            now = await self._guarded(await self._read(crd.name))
            if reasons := [f"{now.name}: {reason}" for reason in find_obstacles(now, self._context, line)]:
                self.report.failed = "; ".join(reasons)
                return
            if (now.storage, [*now.stored]) != (options.to, [options.to]):
                unsettled.append(crd.name)
            if now.storage != options.to:
                now = await self._patient(partial(definition.store_in, self._context.cluster, now, options.to))
                self._context.say(f"{now.name}: new writes are stored in {options.to}")
            todo.append(now)
        since = await definition.wait_for_agreement(self._context, todo, self.report)
        self._outage.begin()
        reports = {each.kind: each for each in self.report.kinds}
        for crd in todo:
            if crd.name in unsettled and not options.verify and not reports[crd.kind].passes:
                await self._pass(crd, reports[crd.kind], line)
        settled = since + options.settle
        if unsettled:  # else nothing under way is stored in another version
            await self._context.sleep(settled - monotonic())
        self._outage.begin()
        for crd in todo:
            await self._prove(crd, reports[crd.kind], line, settled)
            live = await self._read(crd.name)
            reports[crd.kind].storage_after, reports[crd.kind].stored_after = live.storage, [*live.stored]

    async def _guarded(self, now: Definition) -> Definition:
        """Takes back what a run that was killed between the flip and its end has left: updates that lose data would be accepted."""
        if (
            self._context.options.verify
            or (guarded := await self._patient(partial(definition.withdraw, self._context.cluster, now))) is now
        ):
            return now
        self._context.say(f"{now.name}: {ALLOW_DATA_LOSS} is taken back, which an earlier run left")
        return guarded

    async def _prove(self, crd: Definition, kind_report: KindReport, line: Line, settled: float) -> None:
        """Passes until one moves nothing, which proves it; after one that moved something, `settled` is waited for."""
        for _ in range(_MAX_PASSES):
            new_definition = await self._read(crd.name)
            if new_definition.storage != self._context.options.to:
                raise _ChangedError(f"{new_definition.name} stores new writes in {new_definition.storage}")
            counts = await self._pass(new_definition, kind_report, line)
            if not counts.moved:
                await self._still(new_definition, line)
                break
            await self._context.sleep(settled - monotonic())
        else:
            self.report.failed = (
                f"{kind_report.kind}: objects still moved in pass {kind_report.passes}; see what writes them in another version"
            )
            return
        kind_report.proven = not counts.refused
        if kind_report.proven and not self._context.options.verify and not self._context.options.namespace:
            await self._settle(new_definition, kind_report)

    async def _settle(self, new_definition: Definition, kind_report: KindReport) -> None:
        """Write the proven versions. A definition of which only the status changed meanwhile is read again."""
        cluster, to = self._context.cluster, self._context.options.to
        for _ in range(_MAX_PASSES):
            try:
                await self._patient(partial(definition.set_stored_versions, cluster, new_definition, to))
                break
            except ConflictError:
                now = await self._read(new_definition.name)
                if now.generation != new_definition.generation:
                    kind_report.proven = False
                    raise _ChangedError(f"{now.name} has generation {now.generation}, and had {new_definition.generation}") from None
                new_definition = now
        now = await self._read(new_definition.name)
        if now.generation == new_definition.generation:
            await self._patient(partial(definition.observe, cluster, now))

    async def _pass(self, crd: Definition, kind_report: KindReport, line: Line) -> PassCounts:
        """Rewrite the objects of a kind once and add the counts to its report."""
        began = monotonic()
        self._progress.begin(kind_report.kind, kind_report.passes + 1, kind_report.objects)
        resource, still = resource_of_kind(crd.kind, self._context.options.to), partial(self._still, crd, line)
        walk = RewritePass(self._context, self._outage, resource, self._progress.walked, still)
        try:
            return await walk.run()
        finally:
            kind_report.seconds += monotonic() - began if walk.counts.moved else 0.0
            _added(kind_report, walk, self._context.options.to)

    async def _still(self, begun: Definition, line: Line) -> None:
        """Raises: _ChangedError when writes would be stored otherwise than when the pass began, or would lose fields. One read."""
        now = await self._read(begun.name)
        if now.generation != begun.generation and (
            now.storage != self._context.options.to or any(find_obstacles(now, self._context, line))
        ):
            raise _ChangedError(f"{now.name} has generation {now.generation}, and had {begun.generation}")

    async def _patient(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        """Asks again while nothing answers. Raises: ApiError, UnavailableError after the run's patience; Stopped."""
        backoff = Backoff(0.2, MAX_PAUSE_SECONDS)
        while True:
            try:
                answer = await call()
            except UnavailableError as error:
                await self._outage.wait(error, backoff)
            else:
                self._outage.succeeded()
                return answer

    async def _read(self, name: str) -> Definition:
        crd = await self._patient(partial(load_definition, self._context.cluster, name))
        if crd is None:
            raise NotFoundError(404, "NotFound", f"{name}: the CustomResourceDefinition is not there any more")
        return crd


def _added(kind_report: KindReport, walk: RewritePass, to: str) -> None:
    counts, first = walk.counts, not kind_report.passes
    kind_report.passes += 1
    kind_report.objects = counts.objects
    kind_report.moved = (kind_report.moved or 0) + counts.moved
    kind_report.written_by_others += counts.others if first else 0
    kind_report.already_there = counts.there if first else kind_report.already_there
    if first and kind_report.storage_before == to and kind_report.stored_before == [to]:
        kind_report.untrue = counts.moved
    kind_report.refused = counts.refused
    # the refusals of this pass
    kept = {matter: count for matter, count in kind_report.notes.counts.items() if matter != REFUSED}
    kind_report.notes = ObjectNotes(
        [*(note for note in kind_report.notes.items if note.matter in kept), *walk.notes.items], kept | walk.notes.counts
    )
