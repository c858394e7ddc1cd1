"""One worker: what a fork of the supervisor becomes. It serves one socket, answers questions and takes facts; see supervisor.py."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import TYPE_CHECKING, Final, NoReturn

import orjson

from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.webhooks import logs, process
from dynamo_webhooks.webhooks.certificate_source import ForwardedCertificate
from dynamo_webhooks.webhooks.cluster.feed import LINE_BYTES
from dynamo_webhooks.webhooks.executor.executor import Executor
from dynamo_webhooks.webhooks.forked import settle
from dynamo_webhooks.webhooks.logs import Lines
from dynamo_webhooks.webhooks.process import Plan
from dynamo_webhooks.webhooks.server import Webhooks

if TYPE_CHECKING:
    import socket

_LOG: Final = logging.getLogger("webhooks.workers")
# lines of the supervisor; any other is a request for a report
ASK: Final = b"ask\n"
DRAIN: Final = b"drain\n"
FACTS: Final = b"facts "  # and then the facts
LEVEL: Final = b"level "  # and then the log level
PAIR: Final = b"pair "  # and then a line of the certificate source


def become(plan: Plan, sock: socket.socket, channel: socket.socket, pair: bytes) -> NoReturn:
    """Turns a fresh fork into a worker, and never returns into what the parent was doing. `pair` is a line of the source."""
    code = 70
    try:
        settle({sock.fileno(), channel.fileno()})
        asyncio.set_event_loop(None)
        process.run(_work(plan, sock, channel, pair, Executor(plan.limits)))
        code = 0
    except BaseException:  # noqa: BLE001 - the parent's stack is below: nothing may get there
        _LOG.exception("a worker failed")
    finally:
        os._exit(code)


async def _work(plan: Plan, sock: socket.socket, channel: socket.socket, pair: bytes, executor: Executor) -> None:
    """Serve one socket until the supervisor stops it, or ends."""
    loop = asyncio.get_running_loop()
    lines = Lines(shared=True)
    logs.install(lines, plan.logs)
    forwarded = ForwardedCertificate(pair) if pair else None
    server = Webhooks(plan.settings, plan.context(forwarded), lines, executor, plan.limits)
    stop = asyncio.Event()
    lines.start(loop)
    await server.start([sock])
    reports = loop.create_task(_report(server, plan, forwarded, channel, stop))
    await process.ended(stop, executor)
    await server.drain(plan.lag)
    reports.cancel()
    executor.close()
    lines.close()


async def _report(
    server: Webhooks, plan: Plan, forwarded: ForwardedCertificate | None, channel: socket.socket, stop: asyncio.Event
) -> None:
    """Answers the supervisor's questions with how things are, takes facts and pairs from it, and stops at its word, or when it is gone."""
    reader, writer = await asyncio.open_connection(sock=channel, limit=LINE_BYTES)
    with contextlib.suppress(OSError):
        while asked := await reader.readline():
            if asked == DRAIN:
                stop.set()
                continue
            if asked.startswith(FACTS):
                server.use(plan.settings._replace(facts=facts_from(orjson.loads(asked.removeprefix(FACTS)))))
                continue
            if asked.startswith(LEVEL):
                logs.set_level(asked.removeprefix(LEVEL).decode().strip())
                continue
            if asked.startswith(PAIR):
                if forwarded is not None:
                    forwarded.take(asked.removeprefix(PAIR))
                    server.certificate.hurry()
                continue
            writer.write(orjson.dumps(server.report(), option=orjson.OPT_APPEND_NEWLINE))
    stop.set()
