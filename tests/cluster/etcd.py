"""What etcd holds, byte for byte, read and written past the API server through etcd's own API."""

import base64
import contextlib
import http.client
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dynamo_webhooks.api.kinds import GROUP
from tests.cluster.harness import ControlPlane

_PAGE: Final = 1000
_OPERATIONS: Final = 10  # of one transaction: etcd takes 128 of them, and 1.5 MB
_RENEWED: Final = "/registry/leases/"  # by the API server itself, all the time
_FOLLOWING: Final = "/registry/apiregistration.k8s.io/"  # the API server makes and removes these as definitions come and go


def stored(plane: ControlPlane, plural: str = "") -> dict[str, bytes]:
    """The bytes of all objects of our group, or of one kind, by key."""
    begin = f"/registry/{GROUP}/{plural}/" if plural else f"/registry/{GROUP}/"
    return dict(_ranges(_port(plane), begin.encode()))


def versions(plane: ControlPlane, plural: str = "") -> dict[str, int]:
    """How many objects are stored in each apiVersion."""
    counts: dict[str, int] = {}
    for content in stored(plane, plural).values():
        version = str(json.loads(content)["apiVersion"])
        counts[version] = counts.get(version, 0) + 1
    return counts


def contents(plane: ControlPlane, begin: str = "/registry/") -> Iterator[tuple[str, bytes]]:
    """All that the API server keeps below a key."""
    return _ranges(_port(plane), begin.encode())


def replace(plane: ControlPlane, now: Mapping[str, bytes], wanted: Mapping[str, bytes]) -> None:
    """Removes what isn't wanted and puts back what is, but for what the API server itself sees to."""
    surplus = [key for key in now if key not in wanted and not key.startswith(_FOLLOWING)]
    _done(plane, [{"requestDeleteRange": {"key": _encoded(key)}} for key in surplus])
    changed = {key: value for key, value in wanted.items() if now.get(key) != value}
    write(plane, {key: value for key, value in changed.items() if not key.startswith((_RENEWED, _FOLLOWING))})


def write(plane: ControlPlane, wanted: Mapping[str, bytes]) -> None:
    """Writes values as the API server would have stored them."""
    _done(plane, [{"requestPut": {"key": _encoded(key), "value": base64.b64encode(value).decode()}} for key, value in wanted.items()])


def _done(plane: ControlPlane, operations: list[dict[str, Any]]) -> None:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", _port(plane), timeout=60)) as connection:
        for at in range(0, len(operations), _OPERATIONS):
            _asked(connection, "/v3/kv/txn", {"success": operations[at : at + _OPERATIONS]})


def _encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def _asked(connection: http.client.HTTPConnection, path: str, question: dict[str, Any]) -> dict[str, Any]:
    connection.request("POST", path, json.dumps(question), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    body: dict[str, Any] = json.loads(answer.read())
    assert answer.status == 200, body
    return body


def _ranges(port: int, begin: bytes) -> Iterator[tuple[str, bytes]]:
    end, more = begin[:-1] + bytes([begin[-1] + 1]), True
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        while more:
            question = {"key": base64.b64encode(begin).decode(), "range_end": base64.b64encode(end).decode(), "limit": _PAGE}
            answer = _asked(connection, "/v3/kv/range", question)
            pairs = [(base64.b64decode(each["key"]), base64.b64decode(each["value"])) for each in answer.get("kvs", ())]
            yield from ((key.decode(), value) for key, value in pairs)
            more = bool(answer.get("more"))
            begin = pairs[-1][0] + b"\0" if pairs else begin


def _port(plane: ControlPlane) -> int:
    [flag] = [word for word in plane.server.command() if word.startswith("--etcd-servers=")]
    return int(flag.rpartition(":")[2])
