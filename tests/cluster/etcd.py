"""What etcd holds, byte for byte, read past the API server through etcd's own range API."""

import base64
import contextlib
import http.client
import json
from collections.abc import Iterator
from typing import Final

from dynamo_webhooks.api.kinds import GROUP
from tests.cluster.harness import ControlPlane

_PAGE: Final = 1000


def stored(plane: ControlPlane, plural: str = "") -> dict[str, bytes]:
    """The bytes of all objects of our group, or of one kind, by key."""
    begin = f"/registry/{GROUP}/{plural}/" if plural else f"/registry/{GROUP}/"
    return dict(_ranges(_port(plane), begin.encode()))


def versions(plane: ControlPlane, plural: str = "") -> dict[str, int]:
    """How many objects are stored in each apiVersion."""
    found: dict[str, int] = {}
    for content in stored(plane, plural).values():
        version = str(json.loads(content)["apiVersion"])
        found[version] = found.get(version, 0) + 1
    return found


def _ranges(port: int, begin: bytes) -> Iterator[tuple[str, bytes]]:
    end, more = begin[:-1] + bytes([begin[-1] + 1]), True
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        while more:
            question = {"key": base64.b64encode(begin).decode(), "range_end": base64.b64encode(end).decode(), "limit": _PAGE}
            connection.request("POST", "/v3/kv/range", json.dumps(question), {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
            pairs = [(base64.b64decode(each["key"]), base64.b64decode(each["value"])) for each in answer.get("kvs", ())]
            yield from ((key.decode(), value) for key, value in pairs)
            more = bool(answer.get("more"))
            begin = pairs[-1][0] + b"\0" if pairs else begin


def _port(plane: ControlPlane) -> int:
    [flag] = [word for word in plane.server.command() if word.startswith("--etcd-servers=")]
    return int(flag.rpartition(":")[2])
