"""Bounds of connections and requests: sizes in bytes, times in seconds."""

import re
from enum import StrEnum
from typing import Final, NamedTuple


class Limits(NamedTuple):
    """Limits of what one client may cost."""

    body: int = 7 * 1024 * 1024  # of an admission review: the reference's own bound
    small_body: int = 32 * 1024  # requests up to here are answered in the event loop: the worst of them takes 50 ms there
    stepped_body: int = 512 * 1024  # conversions up to here of objects that are short run there, too, with a pause after each
    room: int = 32 * 1024 * 1024  # for longer bodies of admission in memory, per worker
    conversion_room: int = 96 * 1024 * 1024  # the same for conversions, with what becomes of them; more for one alone
    request_memory: int = 160 * 1024 * 1024  # that the process of one longer request may have beside its body and answer
    request_cpu: float = 2  # seconds of CPU for one longer request; the API server gives up after 10 s
    conversion_cpu_seconds_per_mib: float = 4  # more; the worst objects need 2 to 4, ordinary ones 0.1
    max_conversion_cpu_seconds: float = 30  # with these, for a whole conversion
    pace: int = 64 * 1024  # bytes a second that a client must send or take when others wait for room
    slow_seconds: float = 5  # in which it may show its pace
    conversion_body: int = 256 * 1024 * 1024  # of a conversion review: an API server sends a whole list as one
    conversion_seconds: float = 30  # for the body of a conversion review: the API server gives up after 30 s
    body_seconds: float = 10  # for a whole body, waiting for a place included: the API server gives up after 10 s by default
    head_seconds: float = 10  # from the connection to the first request line and headers; later ones from their first byte
    write_seconds: float = 10  # for a client to take an answer, or the next piece of a long one
    idle_seconds: float = 120  # between two requests; longer than the API server's 90 s, so that the client closes first
    goodbye_seconds: float = 1  # for a client to take leave of a closed TLS connection
    drain_seconds: float = 20  # for requests in flight after SIGTERM
    connections: int = 1_000  # open at one time, per worker; an API server holds one for each request that it has in flight
    client_connections: int = 500  # of them for one client: API servers behind one address share these
    handshakes: int = 200  # unfinished handshakes; beyond that the oldest is closed
    head: int = 16 * 1024  # bytes of a request line and headers
    line: int = 4096
    headers: int = 64
    poll_seconds: float = 1.5  # between two looks at the certificate's files


# of a port for probes or metrics: the kubelet and a Prometheus have one connection each, or a new one each time
SIDE: Final = Limits(
    connections=64, client_connections=32, handshakes=32, head_seconds=5, idle_seconds=60, write_seconds=5, drain_seconds=0.1
)


MAX_LIGHT_BODY_BYTES: Final = 4 * 1024  # answered in the loop whatever it holds, unpacked sixteenfold if it holds that
MAX_LOOP_COST_BYTES: Final = 72 * 1024  # of a longer one with what its values count: an ordinary one costs twice its length
_KEPT_COST_FACTOR: Final = 3  # that a body counts whose annotations keep values of the other version: it is converted once for these, too
_VALUE_BYTES: Final = 16  # that a value counts beside its own
_UNPACKS: Final = re.compile(rb"packed|\\u00(?:[67]|3[0-9]|5[cC])")  # the member's name, or an escape that may be a part of it


def is_light(body: bytes, most: int) -> bool:
    """Whether a body of at most `most` bytes, or an object in it, is answered in the loop: by its cost, which its length doesn't show.

    Counting values is no work: 3 µs for 32 KiB.
    """
    size = len(body)
    if size <= MAX_LIGHT_BODY_BYTES or size > most:
        return size <= most
    values = body.count(b",") + body.count(b"{") + body.count(b"[")
    times = _KEPT_COST_FACTOR if b"-spec" in body or b"\\u00" in body else 1
    if times * (size + _VALUE_BYTES * values) > MAX_LOOP_COST_BYTES:
        return False
    return b"packed" not in body and (b"\\u00" not in body or _UNPACKS.search(body) is None)


class Bound(StrEnum):
    """The bounds by the names under which metrics count how often each was met."""

    ADMISSION_BODY = "admission_body"
    CONVERSION_BODY = "conversion_body"
    LARGE_BODIES = "large_bodies"  # met without harm: a long body waited for room
    PACE = "pace"  # a client was so slow that others who waited were given its room
    BODY_SECONDS = "body_seconds"
    CONVERSION_SECONDS = "conversion_seconds"
    DEPTH = "depth"
    REQUEST_CPU = "request_cpu"
    REQUEST_MEMORY = "request_memory"
    HEAD_SECONDS = "head_seconds"
    HEAD = "head"  # too long, a line too long, headers too many, or no HTTP at all
    WRITE_SECONDS = "write_seconds"
    DRAIN_SECONDS = "drain_seconds"
    CONNECTIONS = "connections"
    HANDSHAKES = "handshakes"
    CLIENT_CERTIFICATE = "client_certificate"  # one did not verify, and the handshake ended


def look_for_signals() -> None:
    """Raises what a signal's handler does, as Python does at each call; compiled functions don't look, and this module isn't compiled."""


class BudgetError(BaseException):
    """Raised in the middle of whatever runs when a request has used its CPU time; the text is a sentence for people.

    No `Exception`: a rule or an object that fails costs one finding, and the code that sees to that must not catch this.
    """


MEMORY: Final = "the request needs more memory than one request may have; make the object or the list smaller"
