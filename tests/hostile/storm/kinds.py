"""The kinds of attacks, each by what one of its connections does."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from tests.hostile.storm.line import Line
from tests.hostile.storm.requests import COSTLY, DRIBBLED, GREETINGS, HEADS, LONG, READ, TRASH

WEBHOOKS: Final = ("webhooks",)
SIDE: Final = ("probes", "metrics")
ANY: Final = (*WEBHOOKS, *SIDE)


class Kind(NamedTuple):
    """One kind: `most` connections at once, each one replaced when it has ended if `again`. Only the port of webhooks has `tls`."""

    act: Callable[[Line], Awaitable[None]]
    most: int
    ports: tuple[str, ...] = WEBHOOKS
    tls: bool = True
    again: bool = False


async def _stay(line: Line) -> None:
    await line.hold()


async def _greet(line: Line) -> None:
    """The server computes a key exchange and a signature, the sender nothing."""
    await line.send(line.one_of(GREETINGS))
    await line.reader.read(1)


async def _leave_or_stay(line: Line) -> None:
    if line.chooser.random() < 0.5:
        await line.hold()


async def _drip_head(line: Line) -> None:
    await line.drip(line.one_of(HEADS), line.chooser.uniform(0.02, 0.5))


async def _begin_head(line: Line) -> None:
    """A head without its end."""
    await line.send(line.one_of(HEADS)[:-2])
    await line.hold()


async def _pipeline(line: Line) -> None:
    """Heads behind a review that takes long."""
    await line.send(LONG)
    for _ in range(40):
        await line.send(line.one_of(HEADS))
    await line.hold()


async def _read(line: Line) -> None:
    """Scrapes and probes, whose answers are taken or not."""
    await line.send(line.one_of(READ))
    await (line.hold() if line.worst or line.chooser.random() < 0.7 else asyncio.sleep(5))


async def _ask(line: Line) -> None:
    """A costly review, whole or not."""
    request = line.one_of(COSTLY)
    await line.send(request[: line.chooser.choice([len(request), line.chooser.randrange(len(request))])])
    await line.hold()


async def _dribble(line: Line) -> None:
    """A body of which each chunk has a byte."""
    await line.send(DRIBBLED)
    await line.drip(b"1\r\n \r\n" * 500, line.chooser.choice([0.0, 0.01, 0.2]))
    await line.hold()


async def _babble(line: Line) -> None:
    """What the port doesn't speak, half-closed afterwards or not."""
    await line.send(line.one_of((*TRASH, *GREETINGS, line.chooser.randbytes(2_000))))
    if line.chooser.random() < 0.7:
        line.writer.write_eof()
    await line.hold()


KINDS: Final = {
    "idle": Kind(_stay, 600, ANY, tls=False),
    "hellos": Kind(_greet, 250, tls=False, again=True),
    "handshakes": Kind(_leave_or_stay, 100, again=True),
    "slow heads": Kind(_drip_head, 200, ANY),
    "large heads": Kind(_begin_head, 1_200),
    "side heads": Kind(_begin_head, 1_500, SIDE),
    "pipelined": Kind(_pipeline, 150),
    "scrapes": Kind(_read, 1_500, ("metrics",)),
    "probes": Kind(_read, 500, SIDE),
    "bodies": Kind(_ask, 40),
    "dribble": Kind(_dribble, 100),
    "trash": Kind(_babble, 200, ANY, tls=False, again=True),
}
