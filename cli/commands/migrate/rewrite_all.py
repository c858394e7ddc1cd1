"""One pass over all objects of a kind: each is written anew as it is, so that the API server stores it in its version of today."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from time import monotonic
from typing import Any, Final

import orjson

from ....api.kinds import BY_NAME
from ....api.wording import shorten
from ....kube.clocks import Backoff
from ....kube.errors import ApiError, ConflictError, NotFoundError, NotServedError, UnavailableError
from ....kube.protocol import Node
from ....kube.resources import Resource, resource_of_kind
from .context import MANAGER, PAGE, UNTYPED, MigrationContext, Stopped
from .listing import MAX_PAUSE_SECONDS, Outage, is_refusal, list_pages
from .offline import REFUSED, format_name, list_managed_fields
from .report import ObjectNote, ObjectNotes, PassCounts

_MAX_ATTEMPTS: Final = 4  # at an object whose conversion is refused while others succeed; three times as many when none does
_MAX_CONFLICTS: Final = 20  # with others who write an object at the same moment
_OBJECT_TIMEOUT_SECONDS: Final = 120.0  # while others are answered
_MAX_SENTENCE_CHARACTERS: Final = 500  # of an API server


class RewritePass:
    """Walks over a kind with several writes under way; at most a page of metadata is held."""

    def __init__(
        self,
        context: MigrationContext,
        outage: Outage,
        resource: Resource,
        on_done: Callable[[PassCounts], None],
        still: Callable[[], Awaitable[None]],
    ) -> None:
        """`on_done` is called after each object; `still` before each page, and raises when nothing may be written any more."""
        self._context, self._outage, self._resource, self._on_done, self._still = context, outage, resource, on_done, still
        self._other = resource_of_kind(resource.kind, BY_NAME[resource.kind].other(resource.version))
        self._due = 0.0  # when the next write may begin, by the rate
        self.counts = PassCounts()
        self.notes = ObjectNotes()  # of refused objects

    async def run(self) -> PassCounts:
        """Return the counts. Raises: ApiError if no further request can succeed; Stopped after the writes in progress."""
        async for page in list_pages(self._context, self._outage, self._resource, limit=PAGE, brief=True):
            await self._still()
            items = iter(page)
            workers = [asyncio.create_task(self._work(items)) for _ in range(self._context.options.workers)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
            self._context.check()
        return self.counts

    async def _work(self, items: Iterator[Node]) -> None:
        """Takes objects until there are none; ends between two writes when an end is asked for."""
        with contextlib.suppress(Stopped):
            for item in items:
                self._context.check()
                await self._pace()
                await self._rewrite(item)
                self._on_done(self.counts)

    async def _pace(self) -> None:
        rate = self._context.options.rate
        if rate is not None:
            begin = max(self._due, monotonic())
            self._due = begin + 1 / rate
            await self._context.sleep(begin - monotonic())

    async def _rewrite(self, item: Node) -> None:
        counts, before = self.counts, item["metadata"]
        try:
            before, now = await self._both(before)
        except NotServedError:  # the kind is not served any more
            raise
        except NotFoundError:
            counts.gone += 1
            return
        except _OwnError as error:
            counts.refused += 1
            self.notes.add(ObjectNote(format_name(item), REFUSED, shorten(str(error), _MAX_SENTENCE_CHARACTERS)))
        else:
            if before.get("resourceVersion") == now.get("resourceVersion"):
                counts.there += 1
            elif _mark(before) == _mark(now):
                counts.moved += 1
            else:
                counts.others += 1
        counts.objects += 1

    async def _both(self, before: Node) -> tuple[Node, Node]:
        """The metadata before and after an empty write, in one version: in the other one where this one's schema can't be applied.

        That is so for lists by key whose keys only one version requires. Raises: as `_written`.
        """
        try:
            return before, (await self._written(self._resource, before))["metadata"]
        except _OwnError as error:
            if UNTYPED not in str(error):
                raise
            try:
                where = before["name"], before.get("namespace", "")
                live = await self._context.cluster.get(self._other, *where)
                if live is None and await self._context.cluster.get(self._resource, *where):  # the other version is not served
                    raise
            except UnavailableError as failed:  # the next pass tries again
                raise _OwnError(failed.message) from failed
            if live is None:
                raise NotFoundError(404, "NotFound", str(error)) from error
            return live["metadata"], (await self._written(self._other, live["metadata"]))["metadata"]

    async def _written(self, resource: Resource, metadata: Node) -> Node:
        """Writes one object anew. Raises: _OwnError; NotFoundError; UnavailableError after the run's patience; Stopped."""
        began, outage, backoff = monotonic(), self._outage, Backoff(0.1, MAX_PAUSE_SECONDS)
        before = outage.successes
        while True:
            try:
                made = await self._context.cluster.touch(resource, metadata["name"], metadata.get("namespace", ""), manager=MANAGER)
            except UnavailableError as error:
                others = outage.successes > before
                refused = is_refusal(error) and backoff.errors + 1 >= (_MAX_ATTEMPTS if others else 3 * _MAX_ATTEMPTS)
                untyped = UNTYPED in error.message  # it will not be otherwise the next time
                if refused or untyped or (others and monotonic() - began > _OBJECT_TIMEOUT_SECONDS):
                    raise _OwnError(error.message) from error
                await outage.wait(error, backoff)
            except ConflictError as error:
                if backoff.errors >= _MAX_CONFLICTS:
                    raise _OwnError(error.message) from error
                await self._context.sleep(backoff.next())
            except NotFoundError:
                raise
            except ApiError as error:
                raise _OwnError(error.message) from error
            else:
                outage.succeeded()
                return made


class _OwnError(Exception):
    """An object that the API server does not write, while it writes others; the text is its sentence."""


def _mark(metadata: Node) -> bytes:
    """The metadata but for its version and long, nested parts: the same where an object is only stored in another form."""
    kept: dict[str, Any] = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "managedFields")}
    parts = ("manager", "operation", "apiVersion", "subresource", "time")
    kept["managers"] = [[each.get(key) for key in parts] for each in list_managed_fields(metadata)]
    return orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)
