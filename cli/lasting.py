"""What processes share that work until they are told to stop: probes and metrics, a connection once there is one, an orderly end."""

from __future__ import annotations

import asyncio
import secrets
import signal
from typing import TYPE_CHECKING, Final, Protocol

from cli.output import say
from kube.config import ConfigError
from kube.identity import instance
from webhooks.probes import METRICS, PROBES

if TYPE_CHECKING:
    import socket
    from collections.abc import Coroutine

    from kube.client import Client
    from webhooks.probes import Probes

AGAIN: Final = 10.0  # seconds before another attempt to find out where the API server is


class Waiting(Protocol):
    """Whoever is asked why nothing is done yet."""

    reason: str


async def until_stopped(work: Coroutine[None, None, None], listener: Probes, probes: socket.socket, metrics: socket.socket) -> None:
    """Answers probes and metrics and does the work until SIGTERM or SIGINT; the work is then cancelled, and ends as it will."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if probes is metrics:
        await listener.listen(loop, probes, PROBES | METRICS)
    else:
        await listener.listen(loop, probes, PROBES)
        await listener.listen(loop, metrics, METRICS)
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)
        await listener.close()


async def connected(manager: str, kubeconfig: str, waiting: Waiting) -> Client:
    """A client, as soon as somebody knows where the API server is; `waiting.reason` says meanwhile what is missing."""
    from kube.client import connect

    while True:
        try:
            return await connect(manager, kubeconfig)
        except ConfigError as error:
            if str(error) != waiting.reason:
                say(f"no API server yet: {error}")
            waiting.reason = str(error)
            await asyncio.sleep(AGAIN)


def identity() -> str:
    """This process, told from its own earlier lives."""
    return f"{instance()}_{secrets.token_hex(4)}"
