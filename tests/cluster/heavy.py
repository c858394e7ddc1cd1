"""Reviews of five megabytes, sent to one replica at once and directly, and what became of them. Judging that is the tests' business."""

import asyncio
import io
import ssl
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import aiohttp
import orjson

from dynamo_webhooks.webhooks.routes import CONVERT
from tests.cluster.faults import Replica, Site
from tests.cluster.provisioning import NAMESPACE, SERVICE
from tests.webhooks.requests import GRAPHS, graph, review

SIZE: Final = 5_000_000
TEXT: Final = "x" * 4_000  # in each service: what makes a body long without making a test of many of them long, too
SECONDS: Final = 240.0  # for all of them


class Told(NamedTuple):
    """One answer."""

    status: int
    body: dict[str, Any]


def admission(uid: str) -> tuple[str, bytes]:
    """A path, and an update of a graph with hundreds of services."""
    obj = graph()
    service = obj["spec"]["services"]["worker"]
    service["extraPodSpec"]["mainContainer"]["args"] = [TEXT]
    count = SIZE // 2 // (len(orjson.dumps(service)) + 20)  # a service's name, and once in the old object
    obj["spec"]["services"] = {f"worker-{index}": service for index in range(count)}
    return GRAPHS, _long(review(obj, "UPDATE", obj, uid=uid))


def conversion(uid: str) -> tuple[str, bytes]:
    """A path, and a list of hundreds of graphs."""
    obj = graph()
    obj["spec"]["services"]["worker"]["extraPodSpec"]["mainContainer"]["args"] = [TEXT]
    objects = [obj] * (SIZE // len(orjson.dumps(obj)))
    request = {"uid": uid, "desiredAPIVersion": "nvidia.com/v1beta1", "objects": objects}
    return CONVERT.path, _long(orjson.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}))


def _long(body: bytes) -> bytes:
    assert 0.95 * SIZE < len(body) < 1.05 * SIZE
    return body


def sent_at_once(site: Site, replica: Replica, reviews: Sequence[tuple[str, bytes]]) -> list[Told]:
    """Sends them all, each on a connection of its own, and returns the answers in order.

    Raises: what aiohttp raises for a connection that ends without an answer.
    """
    authority = site.installed.current().pem.decode()
    return asyncio.run(_all(f"https://{site.installed.address}:{replica.port}", ssl.create_default_context(cadata=authority), reviews))


async def _all(url: str, context: ssl.SSLContext, reviews: Sequence[tuple[str, bytes]]) -> list[Told]:
    connector, timeout = aiohttp.TCPConnector(ssl=context, limit=0), aiohttp.ClientTimeout(total=SECONDS)
    async with aiohttp.ClientSession(url, connector=connector, timeout=timeout) as session:
        return await asyncio.gather(*(_one(session, path, body) for path, body in reviews))


async def _one(session: aiohttp.ClientSession, path: str, body: bytes) -> Told:
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    # a file, for aiohttp warns of long bytes: other requests would wait while they are written
    async with session.post(path, data=io.BytesIO(body), headers=headers, server_hostname=f"{SERVICE}.{NAMESPACE}.svc") as answer:
        return Told(answer.status, orjson.loads(await answer.read()))
