"""The context of a run: the cluster, where to print, and whether to stop."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from ....kube.protocol import Cluster, Node, Page
from ....kube.resources import Resource
from ....kube.storage_versions import Opener
from .options import Options

MANAGER: Final = "dynamo-webhooks-migrate"  # how this command calls itself to an API server
UNTYPED: Final = "failed to create typed"  # in the API server's sentence when an object does not fit its schema's lists by key
PAGE: Final = 500  # objects of a list of metadata


class ObjectWriter(Cluster, Protocol):
    """A cluster whose lists are read page by page, and whose objects can be written anew as they are."""

    async def page(self, resource: Resource, namespace: str = "", *, token: str = "", limit: int = PAGE, brief: bool = False) -> Page:
        """Reads one page of a list; with `brief` only metadata. Raises GoneError, with a token for the rest in today's state."""

    async def touch(self, resource: Resource, name: str, namespace: str, *, manager: str, dry_run: bool = False) -> Node:
        """Applies nothing to the status, and gives the object's metadata. Raises NotFoundError."""


class Stopped(Exception):  # noqa: N818 - not an error: it was requested
    """The run was asked to stop."""


class MigrationContext:
    """Context of a run: the cluster, the options, where to print, and whether to stop."""

    def __init__(self, cluster: ObjectWriter, opener: Opener, options: Options, say: Callable[[str], None]) -> None:
        """`opener` connects to one of several API servers; `say` takes a line about what happens."""
        self.cluster = cluster
        self.opener = opener
        self.options = options
        self.say = say
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Asks for an end after the writes that are under way."""
        self._stop.set()

    def check(self) -> None:
        """Raises: Stopped when an end was asked for."""
        if self._stop.is_set():
            raise Stopped

    async def sleep(self, seconds: float) -> None:
        """Waits. Raises: Stopped, at once, when an end is asked for."""
        self.check()  # a wait of no time would not see it
        try:
            await asyncio.wait_for(self._stop.wait(), max(seconds, 0.0))
        except TimeoutError:
            return
        raise Stopped
