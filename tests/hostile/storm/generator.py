"""Sends hostile connections of many kinds, drawn from a seed, and ends by itself. Runs as a process of its own.

`python -m tests.hostile.storm.generator '{...}'` takes an `Order` as JSON and prints how many connections each kind of attack has opened.
"""

import asyncio
import contextlib
import json
import logging
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

import uvloop

from tests.hostile.storm.kinds import KINDS, Kind, opened

SOURCES: Final = tuple(f"127.0.0.{number}" for number in range(2, 10))  # clients of IPv4; 127.0.0.1 is left to victims
MAX_OPEN_CONNECTIONS: Final = 4_000
MAX_CONNECTIONS_A_SECOND: Final = 2_000  # on average: bounds their count by the time
HANDS: Final = 5  # attacks at once, if nothing is said of their size
LASTS: Final = (1.0, 8.0)  # seconds


class Target(NamedTuple):
    """The ports of one server."""

    hosts: tuple[str, ...]  # by which that of webhooks is reached; the others are on 127.0.0.1
    webhooks: int
    probes: int
    metrics: int


class Order(NamedTuple):
    """What to send to whom."""

    seed: int
    seconds: float
    targets: list[Target]
    kinds: tuple[str, ...] = ()  # all, if empty
    size: int = 0  # connections of one attack that lasts all the time, with the worst of each kind; 0: many attacks, all drawn


class Generator:
    """Carries out one order."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._room = asyncio.Semaphore(MAX_OPEN_CONNECTIONS)
        self._end = asyncio.get_running_loop().time() + order.seconds
        self.opened: Counter[str] = Counter()

    async def run(self) -> None:
        """Attacks until the time is up."""
        await asyncio.gather(*(self._hand(number) for number in range(1 if self._order.size else HANDS)))

    async def _hand(self, number: int) -> None:
        loop, chooser = asyncio.get_running_loop(), random.Random(f"{self._order.seed}/{number}")  # noqa: S311 - nothing here is a secret
        while loop.time() < self._end:
            name = chooser.choice(self._order.kinds or tuple(KINDS))
            end = self._end if self._order.size else min(self._end, loop.time() + chooser.uniform(*LASTS))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(end):
                    await self._attack(name, KINDS[name], chooser)

    async def _attack(self, name: str, kind: Kind, chooser: random.Random) -> None:
        """Many connections at once to one server, of one client or of all."""
        target = chooser.choice(self._order.targets)
        webhooks, sources = chooser.choice(target.hosts), chooser.choice([SOURCES[:1], SOURCES])
        size = self._order.size

        async def member() -> None:
            port = chooser.choice(kind.ports)
            host = webhooks if port == "webhooks" else "127.0.0.1"
            source = "" if ":" in host else chooser.choice(sources)
            if self.opened.total() < self._order.seconds * MAX_CONNECTIONS_A_SECOND:
                async with self._room:
                    self.opened[name] += 1
                    tls = kind.tls and port == "webhooks"
                    async with opened((host, getattr(target, port)), source, chooser, tls=tls, worst=size > 0) as line:
                        await kind.act(line)

        async with asyncio.TaskGroup() as group:
            for _ in range(size or chooser.randint(1, kind.most)):
                group.create_task(_repeat(member, again=kind.again))


async def _repeat(member: Callable[[], Awaitable[None]], *, again: bool) -> None:
    while True:
        with contextlib.suppress(OSError, EOFError, RuntimeError):  # the last is uvloop's where a connection has ended
            await member()
        await asyncio.sleep(0.002)
        if not again:
            return


async def _main(order: Order) -> dict[str, int]:
    generator = Generator(order)
    await generator.run()
    return dict(generator.opened)


if __name__ == "__main__":
    logging.disable()  # event loops complain of connections that end unexpectedly
    given = json.loads(sys.argv[1])
    print(json.dumps(uvloop.run(_main(Order(**given | {"targets": [Target(*each) for each in given["targets"]]})))))
