"""A name server for pods that have a host name: `HOST.SERVICE.NAMESPACE.svc.cluster.local` is the address of that pod."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Final

from tests.node.cluster import Cluster
from tests.node.place import FIRST

_PORT: Final = 53
_ADDRESS: Final = 1  # the type of a question for an IPv4 address
_UNKNOWN: Final = 3
_SUFFIX: Final = ["svc", "cluster", "local"]


@contextlib.contextmanager
def name_server(cluster: Cluster) -> Iterator[None]:
    """Answers until the end of the block, at the address that pods ask."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((FIRST.address, _PORT))
        thread = threading.Thread(target=_serve, args=(server, cluster), daemon=True)
        thread.start()
        try:
            yield
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", (FIRST.address, _PORT))
            thread.join()


def _serve(server: socket.socket, cluster: Cluster) -> None:
    while True:
        question, client = server.recvfrom(512)
        if not question:
            return
        server.sendto(_answer(question, cluster), client)


def _answer(question: bytes, cluster: Cluster) -> bytes:
    labels, at = [], 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode())
        at += 1 + length
    query, (kind,) = question[12 : at + 5], struct.unpack_from("!H", question, at + 1)
    address = _find(labels, cluster)
    addresses = [socket.inet_aton(address)] if address and kind == _ADDRESS else []
    head = question[:2] + struct.pack("!HHHHH", 0x8580 if address else 0x8580 | _UNKNOWN, 1, len(addresses), 0, 0)
    return head + query + b"".join(b"\xc0\x0c" + struct.pack("!HHIH", _ADDRESS, 1, 0, 4) + each for each in addresses)


def _find(labels: list[str], cluster: Cluster) -> str:
    """The address of a pod that has the name; empty if none has."""
    if len(labels) != 3 + len(_SUFFIX) or labels[3:] != _SUFFIX:
        return ""
    host, service, namespace = labels[:3]
    for pod in cluster.pods(namespace):
        if (pod["spec"].get("hostname"), pod["spec"].get("subdomain")) == (host, service):
            return str(pod["status"].get("podIP", ""))
    return ""
