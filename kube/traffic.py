"""Counts requests to API servers with the labels of client-go's `rest_client_requests_total`."""

from collections import Counter
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

NO_ANSWER: Final = "<error>"  # in place of a status: no server listened, the connection broke, or the caller stopped waiting


class Sent(NamedTuple):
    """The labels of requests. A list in pages is several requests, a watch is one."""

    code: str  # the HTTP status, or NO_ANSWER
    method: str  # in capitals
    host: str  # of the API server, with its port, as configured


Traffic: TypeAlias = Counter[Sent]


def host_of(url: str) -> str:
    """Host and port of a URL, without a user name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]
