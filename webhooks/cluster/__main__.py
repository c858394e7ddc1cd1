"""The watching process, started by feed.py: reads orders from standard input, writes reports to it, and ends with it."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import orjson

from ...api.operator.scope import ScopeSettings
from ...api.operator.server import Logging
from ...kube.config import ConfigError
from ...kube.errors import ApiError
from ...kube.protocol import Cluster, Traffic
from ...kube.scope import LeaseTakenError, NamespaceLease
from .. import logs
from ..log_lines import Lines
from . import ACCESS, STOP
from .reviews import AccessReviewer
from .watcher import SecretWatch, SnapshotWatch, Watcher

_LOG: Final = logging.getLogger("webhooks.cluster")
AGAIN_SECONDS: Final = 10.0  # before another attempt to find a cluster, or to claim the namespace
MANAGER: Final = "dynamo-webhooks-server"


async def _cluster(orders: dict[str, Any], report: Callable[[dict[str, Any]], None], traffic: Traffic) -> Cluster:
    """Connect to an API server, retrying forever; logs each reason once, and reports configured facts meanwhile."""
    from ...kube.client import connect

    reason = ""
    while True:
        try:
            return await connect(MANAGER, orders["kubeconfig"], traffic=traffic)
        except ConfigError as error:
            if str(error) != reason:
                reason = str(error)
                _LOG.error("the cluster can't be watched: %s", reason)
            report({"facts": orders["stated"], "stale": {}, "refused": "", "traffic": []})
            report({"delivery": {"pair": None, "why": reason, "usable": None, "heard": False}})
            await asyncio.sleep(AGAIN_SECONDS)


async def _hold(lease: NamespaceLease, watcher: Watcher) -> None:
    """Claims the namespace of a restricted operator, renews, and claims again when it was lost; the watcher reports another holder."""
    while True:
        try:
            await lease.acquire()
        except LeaseTakenError as error:
            watcher.refused = str(error)
            _LOG.error("not ready: %s", watcher.refused)
        except ApiError as error:
            _LOG.error("the namespace can't be claimed: %s", error.message)
        else:
            watcher.refused = ""
            await lease.run()
        await asyncio.sleep(AGAIN_SECONDS)


async def _watch(orders: dict[str, Any], report: Callable[[dict[str, Any]], None], desk: AccessReviewer, stopped: asyncio.Event) -> None:
    traffic: Traffic = Counter()
    cluster = desk.cluster = await _cluster(orders, report, traffic)
    scope = ScopeSettings(**orders["scope"])
    lease = None
    if scope.restricted:
        lease = NamespaceLease(cluster, scope.restricted, duration=scope.lease, interval=min(scope.renew, int(scope.lease) / 3))

    def counted(facts: dict[str, Any]) -> None:
        report({**facts, "traffic": [[*sent, count] for sent, count in traffic.items()]})

    watcher = Watcher(cluster, scope, orders["stated"], counted)
    try:
        async with asyncio.TaskGroup() as tasks:
            if lease is not None:
                tasks.create_task(_hold(lease, watcher))
            if orders["certificates"] is not None:
                tasks.create_task(SecretWatch(cluster, orders["certificates"], report).run())
            if orders["stated"].get("checkpoint"):
                tasks.create_task(SnapshotWatch(cluster, scope.restricted, report).run())
            tasks.create_task(watcher.run())
    finally:
        if lease is not None and stopped.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(3):
                    await lease.release()
        await cluster.close()


async def _main() -> None:
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=os.dup(0)), limit=2**24)
    stopped = asyncio.Event()
    orders = orjson.loads(await reader.readline())
    logs.install(Lines(shared=True), Logging(**orders["logs"]))

    def report(message: dict[str, Any]) -> None:
        writer.write(orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE))

    desk = AccessReviewer(report)
    watching = asyncio.create_task(_watch(orders, report, desk, stopped))

    async def listen() -> None:
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                if line == STOP:
                    stopped.set()
                    break
                if line.startswith(ACCESS):
                    desk.take(line.removeprefix(ACCESS))
        watching.cancel()

    listening = asyncio.create_task(listen())
    with contextlib.suppress(asyncio.CancelledError):
        await watching
    listening.cancel()


def main() -> None:
    """Run until stopped, or until the parent ends, which leaves the Lease to expire."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    logs.install(Lines(shared=True))
    asyncio.run(_main())


if __name__ == "__main__":
    main()
