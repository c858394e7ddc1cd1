"""One connection of the generator."""

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from tests.hostile.storm.requests import stranger

Choice = TypeVar("Choice")
_RESET: Final = struct.pack("ii", 1, 0)
_PIECE: Final = 65_536
_CONTEXT: Final = stranger()


@dataclass(slots=True)
class Line:
    """What an attack does with it. `worst`: nothing is drawn."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    chooser: random.Random
    worst: bool

    def one_of(self, choices: Sequence[Choice]) -> Choice:
        """The last of these, which is the worst, or any."""
        return choices[-1] if self.worst else self.chooser.choice(choices)

    async def send(self, data: bytes) -> None:
        """Sends as fast as the server reads."""
        for at in range(0, len(data), _PIECE):
            self.writer.write(data[at : at + _PIECE])
            await self.writer.drain()

    async def drip(self, data: bytes, pause: float) -> None:
        """Sends a byte at a time."""
        for at in range(len(data)):
            self.writer.write(data[at : at + 1])
            await asyncio.sleep(pause)

    async def hold(self) -> None:
        """Reads until the server ends the connection."""
        while await self.reader.read(_PIECE):
            pass

    def end(self) -> None:
        """Ends it with a reset, or by closing."""
        sock = self.writer.get_extra_info("socket")
        if sock is not None and self.chooser.random() < 0.5:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.writer.transport.abort()


@contextlib.asynccontextmanager
async def opened(at: tuple[str, int], source: str, chooser: random.Random, *, tls: bool, worst: bool) -> AsyncIterator[Line]:
    """Opens a connection from a source address, if one is given, and ends it with the block."""
    local = (source, 0) if source else None
    context, name = (_CONTEXT, "localhost") if tls else (None, None)
    line = Line(*await asyncio.open_connection(*at, local_addr=local, ssl=context, server_hostname=name), chooser, worst)
    try:
        yield line
    finally:
        line.end()
