"""Reads long lists through outages, one page at a time, and with them the managed fields of a version to be removed."""

from collections.abc import AsyncGenerator
from time import monotonic
from typing import Any, Final, NamedTuple

from ....api.kinds import BY_NAME, api_version
from ....kube.clocks import Backoff
from ....kube.errors import ApiError, GoneError, UnavailableError
from ....kube.protocol import Node
from ....kube.resources import Resource, resource_of_kind
from .context import PAGE, MigrationContext
from .offline import format_name, list_managed_fields

MAX_PAUSE_SECONDS: Final = 5.0  # between two attempts
_REPORT_AFTER_SECONDS: Final = 5.0  # of failures
_MAX_RESTARTS: Final = 5  # of a list which has become too old
_MAX_PAGE_ATTEMPTS: Final = 4  # at a page that the converter refuses for one of its objects
# in the API server's message when the webhook did not respond, or not in time
_AWAY: Final = ("failed: Post ", "has prevented the request from succeeding", "unable to handle the request", "too many requests")


def is_refusal(error: UnavailableError) -> bool:
    """Whether the converter answered, and refused an object: then waiting does not help."""
    return error.code == 500 and not any(words in error.message for words in _AWAY)


class Outage:
    """Shared by all requests of a run: the time since the last success. Reports when a pause begins and ends."""

    def __init__(self, context: MigrationContext) -> None:
        self._context = context
        self.last_good = monotonic()  # when a request succeeded
        self.successes = 0
        self._reported = False

    def begin(self) -> None:
        """Requests begin after a time without any."""
        self.last_good = monotonic()

    def succeeded(self) -> None:
        """A request was answered as it should."""
        now = monotonic()
        if self._reported:
            self._context.say(f"going on after a pause of {now - self.last_good:.0f} s")
        self.last_good, self._reported = now, False
        self.successes += 1

    async def wait(self, error: UnavailableError, backoff: Backoff) -> None:
        """Waits before the next attempt. Raises: the error, after the run's patience; Stopped."""
        idle = monotonic() - self.last_good
        if idle > self._context.options.patience:
            raise error
        if idle > _REPORT_AFTER_SECONDS and not self._reported:
            self._reported = True
            self._context.say(f"paused, and trying again for up to {self._context.options.patience:.0f} s: {error.message}")
        await self._context.sleep(backoff.next())


async def list_pages(
    context: MigrationContext, outage: Outage, resource: Resource, *, limit: int, brief: bool
) -> AsyncGenerator[list[Node]]:
    """All pages of a list. One that is too old for its next page goes on with today's objects, or begins anew, a few times.

    Raises: UnavailableError after the run's patience; ApiError, also where one object spoils its page; Stopped.
    """
    token, restarts, backoff = "", 0, Backoff(0.2, MAX_PAUSE_SECONDS)
    while True:
        try:
            page = await context.cluster.page(resource, context.options.namespace, token=token, limit=limit, brief=brief)
        except UnavailableError as error:
            if is_refusal(error) and backoff.errors + 1 >= _MAX_PAGE_ATTEMPTS:
                raise ApiError(error.code, error.reason, error.message) from error
            await outage.wait(error, backoff)
            continue
        except GoneError as error:
            restarts += 1
            if restarts > _MAX_RESTARTS and not error.resume:
                raise
            token = error.resume
            continue
        outage.succeeded()
        backoff.reset()
        yield page.items
        token = page.token
        if not token:
            return


# Managed fields are harmless until the definition drops their version; then every apply fails.
_MAX_EXAMPLES: Final = 5  # of objects of a manager
_MAX_MANAGERS: Final = 1000  # that are counted separately; clients choose their names
_MAX_MANAGER_CHARACTERS: Final = 128  # which an API server bounds


class _Manager(NamedTuple):
    kind: str
    manager: str
    operation: str
    part: str


async def count_by_manager(context: MigrationContext, version: str) -> dict[str, Any]:
    """All managers of a version, with their objects counted. Costs one list of metadata a kind. Raises: ApiError, Stopped."""
    counts: dict[_Manager, int] = {}
    examples: dict[_Manager, list[str]] = {}
    objects, outage = 0, Outage(context)
    for kind in context.options.kinds:
        resource = resource_of_kind(kind, BY_NAME[kind].other(version))
        async for page in list_pages(context, outage, resource, limit=PAGE, brief=True):
            for item in page:
                managers = {
                    candidate
                    for candidate in _managers(kind, item["metadata"], api_version(version))
                    if candidate in counts or len(counts) < _MAX_MANAGERS
                }
                objects += bool(managers)
                for manager in managers:
                    counts[manager] = counts.get(manager, 0) + 1
                    if len(names := examples.setdefault(manager, [])) < _MAX_EXAMPLES:
                        names.append(format_name(item))
            context.check()
    rows = [{**counted._asdict(), "objects": counts[counted], "examples": names} for counted, names in sorted(examples.items())]
    return {"version": version, "objects": objects, "managers": rows}


def _managers(kind: str, metadata: Node, version: str) -> set[_Manager]:
    return {
        _Manager(
            kind,
            str(each.get("manager") or "")[:_MAX_MANAGER_CHARACTERS],
            str(each.get("operation") or ""),
            str(each.get("subresource") or ""),
        )
        for each in list_managed_fields(metadata)
        if each.get("apiVersion") == version
    }
