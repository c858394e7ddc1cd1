"""How long a small review waits beside clients that mean harm: four of them, at addresses of their own, with eight shapes without a pause.

`python -m tests.bench.beside PORT AUTHORITY ADDRESS FOLDER SECONDS` is one of those clients: it posts the files of FOLDER in turn over four
connections, whatever is answered, and prints how many answers it got.
"""

import asyncio
import contextlib
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import orjson
import uvloop

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.webhooks.routes import route_path
from tests.bench.asker import Asker
from tests.bench.load import Measured
from tests.bench.requests import graph, review
from tests.bench.table import Settings, Table
from tests.bench.waiting import at

HOSTILE: Final = "Hostile clients"
CLIENTS: Final = 4
CONNECTIONS: Final = 4  # of each
RATE: Final = 50.0  # small reviews a second
GRAPH: Final = "DynamoGraphDeployment"
VALIDATE, MUTATE, VALIDATE_BETA, MUTATE_BETA = (
    route_path(GRAPH, version, purpose) for version in ("v1alpha1", "v1beta1") for purpose in (Purpose.VALIDATE, Purpose.MUTATE)
)


def _review(version: str, spec: dict[str, Any], old: dict[str, Any] | None = None) -> bytes:
    kind = {"apiVersion": f"nvidia.com/{version}", "kind": GRAPH, "metadata": {"name": "h", "namespace": "h"}}
    request: dict[str, Any] = {"uid": "h", "operation": "CREATE", "object": {**kind, "spec": spec}}
    if old is not None:
        request |= {"operation": "UPDATE", "oldObject": {**kind, "spec": old}}
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def _conversion(objects: list[Any]) -> bytes:
    request = {"uid": "h", "desiredAPIVersion": "nvidia.com/v1beta1", "objects": objects}
    return orjson.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})


def shapes() -> list[tuple[str, bytes]]:
    """Where each is posted, and its body: what stopped an earlier version, and what is as long as may be."""
    names = [{"name": f"w{number}"} for number in range(30_000)]
    mounts: dict[str, Any] = {f"w{number}": {"volumeMounts": [{}] * 6_000} for number in range(20)}
    wrong = {f"w{number}": {"replicas": -1} for number in range(4_000)}
    services = {f"w{number}": {"replicas": 1, "envs": [{"name": "A", "value": "b"}]} for number in range(20_000)}
    unknown = {f"field{number}": number for number in range(60_000)}
    small: dict[str, Any] = {f"w{number}": {"volumeMounts": [{}] * 450} for number in range(20)}
    alpha = {"apiVersion": "nvidia.com/v1alpha1", "kind": GRAPH, "metadata": {"name": "h", "namespace": "h"}}
    return [
        (MUTATE_BETA, _review("v1beta1", {"components": names})),
        (VALIDATE_BETA, _review("v1beta1", {"components": [{**each, "experimental": {"failover": {}}} for each in names[:25]]})),
        (VALIDATE, _review("v1alpha1", {"services": wrong})),
        (VALIDATE, _review("v1alpha1", {"services": mounts}, {"services": mounts})),
        (MUTATE, _review("v1alpha1", {"services": {}, **unknown})),
        (VALIDATE, _review("v1alpha1", {"services": small})),  # short enough for the event loop
        ("/convert", _conversion([{**alpha, "spec": {"services": services}}])),
        ("/convert", b'{"request":{"uid":"h","desiredAPIVersion":"nvidia.com/v1beta1","objects":[' + b"{}," * 2_000_000 + b"{}]}}"),
    ]


def beside(table: Table, our: Measured, settings: Settings, folder: Path) -> None:
    """Measures."""
    one = folder / "small.json"
    one.write_bytes(review(graph()))
    quiet = Asker(our, VALIDATE, one, 4, RATE, settings.seconds).times()
    with tempfile.TemporaryDirectory() as place:
        for number, (path, body) in enumerate(shapes()):
            (Path(place) / f"{number}{path.replace('/', '~')}").write_bytes(body)
        words = [sys.executable, "-m", "tests.bench.beside", str(our.port), str(our.authority)]
        hostile = [
            subprocess.Popen([*words, f"127.0.0.{9 + number}", place, str(settings.seconds + 4)], stdout=subprocess.PIPE)
            for number in range(CLIENTS)
        ]
        time.sleep(3)  # they have begun
        found = Asker(our, VALIDATE, one, 4, RATE, settings.seconds).times()  # one that fails ends it, and this with it
        answered = [int(client.communicate()[0]) for client in hostile]
    if min(answered) < 2:
        raise RuntimeError("there was hardly any harm")
    what = f"a small review beside {CLIENTS} hostile clients ({sum(answered)} answers to them); beside it alone"
    said, alone = (f"p50 {at(times, 50) * 1e3:.1f} ms, p99 {at(times, 99) * 1e3:.1f} ms" for times in (found, quiet))
    table.row(HOSTILE, what, f"{said}, longest {found[-1] * 1e3:.0f} ms, none failed", alone, goal="p99 100 ms, longest 1 s, idle machine")


def messages_of(folder: Path) -> list[bytes]:
    """The requests that the files of a folder are bodies of."""
    found = []
    for file in sorted(folder.iterdir()):
        path, body = file.name[1:].replace("~", "/"), file.read_bytes()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        found.append(head.encode() + body)
    return found


async def _harm(port: int, authority: str, address: str, messages: list[bytes], seconds: float) -> int:
    context = ssl.create_default_context(cafile=authority)
    end, answered = time.monotonic() + seconds, 0

    async def over(first: int) -> None:
        nonlocal answered
        turn = first
        while time.monotonic() < end:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, limit=2**24, local_addr=(address, 0))
                while time.monotonic() < end:
                    turn += 1
                    writer.write(messages[turn % len(messages)])
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                    await reader.readexactly(int(length[15:]))
                    answered += 1
                writer.close()

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds + 5):
            await asyncio.gather(*(over(2 * number) for number in range(CONNECTIONS)))
    return answered


if __name__ == "__main__":
    given = sys.argv[1:]
    print(uvloop.run(_harm(int(given[0]), given[1], given[2], messages_of(Path(given[3])), float(given[4]))))
