"""A control plane whose kinds are served in both versions, converted by our server as a process of its own."""

import contextlib
import http.client
import json
import re
import ssl
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.line import Line
from tests.cluster.admission import Admission, serving
from tests.cluster.definitions import install
from tests.cluster.harness import ADMIN, TOKENS, ControlPlane, is_ready
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until

Node: TypeAlias = dict[str, Any]
KINDS: Final = (
    "DynamoGraphDeployment",
    "DynamoComponentDeployment",
    "DynamoGraphDeploymentRequest",
    "DynamoGraphDeploymentScalingAdapter",
)

CONNECTIONS: Final = 8  # of create_many; more wait for each other in etcd


@contextlib.contextmanager
def converting_plane(planes: Planes, home: Path) -> Iterator[tuple[ControlPlane, Admission]]:
    """The control plane and the server."""
    with serving(home / "serve") as server, planes.lend() as plane:
        install(plane, *(crd(kind, conversion=server.stanza(), line=Line.V1_2) for kind in KINDS))
        yield plane, server


def restart(plane: ControlPlane) -> None:
    """Ends the API server and starts it on the same etcd, with empty caches."""
    plane.server.stop()
    plane.server = plane.server.again()
    wait_until(lambda: is_ready(plane), "kube-apiserver being ready again", plane.server)


def listed(plane: ControlPlane, path: str) -> Node | None:
    """A list; None where the API server can't give it yet, or not within the time that it gives itself."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        reply = plane.request("GET", path)
        return reply.body if reply.status == 200 else None
    return None


def create_many(plane: ControlPlane, path: str, objects: Sequence[Node]) -> None:
    """Creates objects, several at once."""
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        for reply in threads.map(partial(plane.request, "POST", path), objects):
            assert reply.status == 201, str(reply.body)[:500]


def events(plane: ControlPlane, path: str, version: str) -> Iterator[Node]:
    """Watches a collection from a resource version on, for as long as the caller reads."""
    context = ssl.create_default_context(cafile=str(plane.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", plane.port, context=context, timeout=120)
    with contextlib.closing(connection):
        query = f"watch=1&resourceVersion={version}&timeoutSeconds=110"
        connection.request("GET", f"{path}?{query}", headers={"Authorization": f"Bearer {TOKENS[ADMIN][0]}"})
        answer = connection.getresponse()
        assert answer.status == 200
        for line in answer:
            yield json.loads(line)


def without_server_fields(obj: Node) -> Node:
    """An object without what the API server keeps for itself."""
    metadata = {
        k: v for k, v in obj["metadata"].items() if not re.fullmatch("uid|resourceVersion|creationTimestamp|generation|managedFields", k)
    }
    return {**obj, "metadata": metadata}
