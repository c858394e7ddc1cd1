"""A storm over servers: the generator in a process of its own, victims beside it, and the memory of each server meanwhile."""

import asyncio
import contextlib
import json
import ssl
import subprocess
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.footprint import Watch, footprint
from tests.hostile.storm.generator import Order, Target
from tests.hostile.storm.victims import Victims
from tests.webhooks.processes import ROOT, Command

MIB: Final = 1024 * 1024
MAX_MEMORY_BYTES: Final = 500 * MIB  # of all processes of a pod
MORE: Final = 100 * MIB  # than at the start, so many seconds after a storm:
AFTERWARDS: Final = 10.0
FRESH_CONNECTION_SECONDS: Final = 1.0  # of the server's work before an answer over a new connection
KEPT_CONNECTION_SECONDS: Final = 0.5  # and over one that is kept
LISTEN: Final = ("--listen", ":0")  # by IPv6, too
_LOOKS: Final = 0.2  # seconds between two looks at memory


class Outcome(NamedTuple):
    """What one storm did to one server."""

    victims: Victims
    before: int  # bytes
    most: int
    after: int
    opened: dict[str, int]

    def faults(self) -> list[str]:
        """What went beyond its bound or failed, but for waiting."""
        return [*self.memory_faults(), *(str(seen) for seen in self.victims.all if seen.failures or not seen.answered)]

    def late(self) -> list[str]:
        """Whom the server let wait while it worked too long for others."""
        waited = ((self.victims.kept, KEPT_CONNECTION_SECONDS), (self.victims.fresh, FRESH_CONNECTION_SECONDS))
        return [
            f"{seen.name}: must be answered after {most:g} s of work, was {seen.behind:.2f}" for seen, most in waited if seen.behind > most
        ]

    def memory_faults(self) -> list[str]:
        """What of memory went beyond its bound."""
        before, most, after = (each // MIB for each in (self.before, self.most, self.after))
        return [
            *([f"memory must stay below {MAX_MEMORY_BYTES // MIB} MiB, was {most}"] if self.most >= MAX_MEMORY_BYTES else []),
            *([f"memory must be back within {MORE // MIB} MiB of {before}, was {after}"] if self.after >= self.before + MORE else []),
        ]

    def __str__(self) -> str:
        memory = " → ".join(f"{each // MIB}" for each in (self.before, self.most, self.after))
        victims = "; ".join(map(str, self.victims.all))
        return f"{memory} MiB; {victims}; their own lag {self.victims.lag:.2f} s; {self.opened}"


class Attacked(NamedTuple):
    """A running server, and what its victims know of it."""

    process: int
    target: Target
    authority: str  # PEM
    name: str = "localhost"

    def victims(self) -> Victims:
        """Clients of it."""
        context = ssl.create_default_context(cadata=self.authority)
        return Victims(self.process, (self.target.hosts[0], self.target.webhooks), self.target.probes, context, self.name)


def attacked(server: Command) -> Attacked:
    """A server that is ready, and was started to `LISTEN`."""
    ports = (int(server.line(f"{name} ").rpartition(":")[2]) for name in ("ready", "probes", "metrics"))
    return Attacked(server.process.pid, Target(("127.0.0.1", "::1"), *ports), (server.directory / "ca.crt").read_text())


async def storm(servers: Sequence[Attacked], order: Order) -> list[Outcome]:
    """Carries an order out on servers, while victims ask them and for a second more."""
    end = asyncio.Event()
    victims = [each.victims() for each in servers]
    asking = [asyncio.create_task(each.until(end)) for each in victims]
    await asyncio.sleep(1)
    with contextlib.ExitStack() as looking:
        watches = [looking.enter_context(Watch(each.process, _LOOKS)) for each in servers]
        before = [each.most for each in watches]
        opened = await asyncio.to_thread(_generate, order._replace(targets=[each.target for each in servers]))
        await asyncio.sleep(1)
    end.set()
    await asyncio.gather(*asking)
    after = await _settled([each.process for each in servers], before)
    return [Outcome(*each, opened) for each in zip(victims, before, [each.most for each in watches], after, strict=True)]


def _generate(order: Order) -> dict[str, int]:
    words = (sys.executable, "-m", "tests.hostile.storm.generator", json.dumps(order._asdict()))
    done = subprocess.run(words, stdout=subprocess.PIPE, cwd=ROOT, timeout=order.seconds + 60, check=True)
    counts: dict[str, int] = json.loads(done.stdout)
    return counts


async def _settled(processes: list[int], before: list[int]) -> list[int]:
    """Memory when all have given it back, at the latest when they must have."""
    for _ in range(int(AFTERWARDS)):
        await asyncio.sleep(1)
        now = [footprint(each) for each in processes]
        if all(most < least + MORE for most, least in zip(now, before, strict=True)):
            break
    return now
