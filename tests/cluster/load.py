"""A writer and a reader that never stop: requests through the API server at a fixed rate, and what failed of them, with the time."""

import asyncio
import itertools
import json
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import aiohttp

from tests.cluster.harness import ADMIN, TOKENS, ControlPlane
from tests.cluster.objects import graph
from tests.cluster.playing import MERGE

RATE: Final = 60.0  # requests a second, unless a test says otherwise: more would take a CPU from everybody else
AT_ONCE: Final = 4  # requests under way: more would only wait for each other on a slow machine
OBJECTS: Final = 10  # that are read and updated
# An API server that has just seen a CRD change asks for a list once more a moment later (429 with Retry-After), and every client of
# Kubernetes does so by itself. Asking again is no failure; being refused again and again is one.
TRIES: Final = 10


class Failure(NamedTuple):
    """One request that failed."""

    at: float  # monotonic
    what: str
    said: str


class Load:
    """Runs in a thread of its own until it is stopped."""

    def __init__(
        self, plane: ControlPlane, namespace: str, services: dict[str, Any] | None = None, rate: float = RATE, objects: int = OBJECTS
    ) -> None:
        """Makes the objects, by default graphs of one empty service; the requests begin with `start`."""
        self._plane, self._namespace, self._services, self._rate, self._objects = plane, namespace, services, rate, objects
        self.failures: list[Failure] = []
        self.done = 0
        self.longest = 0.0  # seconds that one request took, since somebody set this back
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)
        for index in range(objects):
            plane.request("POST", self._path("v1alpha1"), graph(namespace, services, name=f"g-{index}")).done()

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Ends; all requests that were begun are answered."""
        self._stop.set()
        self._thread.join(120)
        assert not self._thread.is_alive()

    def since(self, moment: float) -> list[Failure]:
        """Failures after a moment of the monotonic clock."""
        return [each for each in self.failures if each.at >= moment]

    def wait_for(self, more: int) -> None:
        """Waits until so many more requests have been answered."""
        wanted, deadline = self.done + more, time.monotonic() + 120
        while self.done < wanted:
            assert time.monotonic() < deadline, f"{self.done} requests were answered, {wanted} were wanted"
            time.sleep(0.02)

    def _path(self, version: str, name: str = "") -> str:
        path = f"/apis/nvidia.com/{version}/namespaces/{self._namespace}/dynamographdeployments"
        return f"{path}/{name}" if name else path

    def _run(self) -> None:
        asyncio.run(self._all())

    async def _all(self) -> None:
        context = ssl.create_default_context(cafile=str(self._plane.ca))
        headers = {"Authorization": f"Bearer {TOKENS[ADMIN][0]}", "Accept": "application/json"}
        work = self._work()
        self._due = time.monotonic()
        connector = aiohttp.TCPConnector(ssl=context, limit=AT_ONCE)
        async with aiohttp.ClientSession(
            f"https://{self._plane.address}:{self._plane.port}", headers=headers, connector=connector
        ) as session:
            await asyncio.gather(*(self._worker(session, work) for _ in range(AT_ONCE)))

    async def _worker(self, session: aiohttp.ClientSession, work: Iterator[list[tuple[str, str, Any]]]) -> None:
        while not self._stop.is_set():
            for method, path, body in next(work):
                now = time.monotonic()
                self._due = max(self._due + 1 / self._rate, now - 0.5)
                await asyncio.sleep(max(0.0, self._due - now))
                if not await self._send(session, method, path, body):
                    break  # what wasn't made can't be deleted

    def _work(self) -> Iterator[list[tuple[str, str, Any]]]:
        """Updates and reads in both versions; now and then something is made and deleted, or a list is read."""
        for count in itertools.count():
            name = f"g-{count % self._objects}"
            note = {"metadata": {"annotations": {"test/count": str(count)}}}
            beta = [("GET", self._path("v1beta1", name), None)]
            yield [("PATCH", self._path("v1beta1", name), note)]
            yield beta
            yield [("PATCH", self._path("v1alpha1", name), note)]
            yield beta
            if count % 10 == 0:
                yield [("GET", self._path("v1beta1"), None)]
                new = f"new-{count}"
                yield [
                    ("POST", self._path("v1alpha1"), graph(self._namespace, self._services, name=new)),
                    ("DELETE", self._path("v1alpha1", new), None),
                ]

    async def _send(self, session: aiohttp.ClientSession, method: str, path: str, body: Any) -> bool:
        began = time.monotonic()
        try:
            fault = await self._ask(session, method, path, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            fault = repr(error)
        self.longest = max(self.longest, time.monotonic() - began)
        if fault:
            self.failures.append(Failure(began, f"{method} {path}", f"{time.monotonic() - began:.1f} s: {fault}"))
        self.done += 1
        return not fault

    async def _ask(self, session: aiohttp.ClientSession, method: str, path: str, body: Any) -> str:
        """What the API server says against the request; empty when it does as it is told."""
        kind = MERGE if method == "PATCH" else "application/json"
        data = None if body is None else json.dumps(body)
        for _ in range(TRIES):
            async with session.request(method, path, data=data, headers={"Content-Type": kind}) as answer:
                text, status, again = await answer.text(), answer.status, answer.headers.get("Retry-After")
            if status != 429 or again is None:
                break
            await asyncio.sleep(float(again))
        return "" if 200 <= status < 300 else f"{status} {text[:3000]}"
