"""How many requests went to which API server and what came back, under the words of client-go's `rest_client_requests_total`.

Connections count into what their owner gives them. Who prints it is elsewhere: each process that has metrics of its own.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

NO_ANSWER: Final = "<error>"  # in the place of a status: nobody listened, the connection broke, or whoever asked gave up waiting


class Sent(NamedTuple):
    """What requests are told apart by. A list in pages is several of them, a watch is one."""

    code: str  # the HTTP status, or NO_ANSWER
    method: str  # in capitals
    host: str  # of the API server, with its port, as configured


Traffic: TypeAlias = Counter[Sent]


def host_of(url: str) -> str:
    """Host and port of a URL, without a password that somebody may have written before them."""
    return urlsplit(url).netloc.rpartition("@")[2]
