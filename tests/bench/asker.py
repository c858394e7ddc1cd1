"""A client in a process of its own: asks over several TLS connections, at a pace or as fast as it can, and prints its waiting times.

`python -m tests.bench.asker PORT AUTHORITY PATH FILE CONNECTIONS RATE SECONDS`: the body lies in FILE; RATE is requests a second over all
connections, 0 for the next as soon as the last was answered. Prints a JSON list of seconds; the first tenth of the time is not counted.
"""

import asyncio
import json
import random
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import uvloop

from tests.bench.load import Measured

WARM: Final = 0.1


class Asking:
    """What one process asks, and how long each answer took."""

    def __init__(self, port: int, path: str, body: bytes, rate: float, seconds: float) -> None:
        """`rate` is of one connection."""
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._message = head.encode() + body
        self._port, self._rate, self._seconds = port, rate, seconds
        self.taken: list[float] = []

    async def over(self, context: ssl.SSLContext) -> None:
        """Asks over one connection until the time is up; at a pace, the pauses are drawn, so that connections don't march in step."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=context, limit=2**24)
        clock = time.perf_counter  # the loop's own goes by milliseconds
        begin, draw = clock(), random.Random().expovariate  # noqa: S311 - nothing here is a secret
        due = begin
        while (now := clock()) < begin + self._seconds:
            if self._rate:
                due += draw(self._rate)
                await asyncio.sleep(max(0.0, due - now))
            # from when it was due: what had to wait for the answer before it waited for the server, too
            asked = min(clock(), due) if self._rate else clock()
            writer.write(self._message)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"unexpected answer: {head[:100]!r}")
            await reader.readexactly(int(next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))[15:]))
            if clock() > begin + WARM * self._seconds:
                self.taken.append(clock() - asked)
        writer.close()


async def main(port: int, authority: str, path: str, body: bytes, connections: int, rate: float, seconds: float) -> None:
    """Asks, and prints the times."""
    asking = Asking(port, path, body, rate / connections, seconds)
    context = ssl.create_default_context(cafile=authority)
    await asyncio.gather(*(asking.over(context) for _ in range(connections)))
    print(json.dumps(asking.taken))


class Asker:
    """One such client; its times are there when it has ended."""

    def __init__(self, server: Measured, path: str, file: Path, connections: int, rate: float, seconds: float) -> None:
        """Begins at once."""
        words = [str(server.port), str(server.authority), path, str(file), str(connections), str(rate), str(seconds)]
        self._process = subprocess.Popen([sys.executable, "-m", "tests.bench.asker", *words], stdout=subprocess.PIPE)

    def times(self) -> list[float]:
        """Waits for its end; seconds for each answer, the shortest first."""
        out, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError("a client failed")
        found: list[float] = json.loads(out)
        return sorted(found)


if __name__ == "__main__":
    given = sys.argv[1:]
    uvloop.run(main(int(given[0]), given[1], given[2], Path(given[3]).read_bytes(), int(given[4]), float(given[5]), float(given[6])))
