"""Services, which answer the requests of a port. Not compiled, so that classes that aren't may be one, too."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

from .http1 import Head
from .reply import Reply

Asker_contra = TypeVar("Asker_contra", contravariant=True)  # a connection

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Service(Protocol[Asker_contra]):
    """Answers the requests of a port; with `answer_long` alone, each after its head."""

    small_body: int = 0  # bytes of a body that `answer` is given; longer ones, and those in chunks, are left to `answer_long`

    def begin(self, _connection: Asker_contra, _head: Head) -> Reply | None:
        """The reply to a request whose body needn't be read; None: it is wanted."""
        return None

    def answer(self, connection: Asker_contra, head: Head, _body: bytes) -> Reply | Work:
        """The reply to a request with a short body, or the work that ends with `Connection.send`."""
        return partial(self.answer_long, connection, head)

    async def answer_long(self, connection: Asker_contra, head: Head) -> None:
        """Reads the body with `Connection.read`, unless it needn't, and ends with `Connection.send`."""

    def body_seconds(self, _head: Head) -> float:
        """The time in which a short body must come; none where no body is short."""
        return 0.0

    def too_slow(self, _head: Head) -> Reply:
        """The reply to a request whose short body did not come in time."""
        return Reply(408, b"")
