"""The division of the memory that a server may use: from one number follow the bounds of bodies and of the processes of long requests.

`parts` names what each part may take at most; their sum stays below the limit of the container.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from .body_memory import ANSWER_FACTOR
from .executor.executor import MAX_CONCURRENT_CONVERSIONS
from .limits import Limits

MIB: Final = 1024 * 1024
DEFAULT_BYTES: Final = 1024 * MIB  # where nothing limits the container: as much as the manifests give it
SERVER_BYTES: Final = 96 * MIB  # without connections and long requests
WATCHER_BYTES: Final = 80 * MIB
FORKER_BYTES: Final = 16 * MIB  # it shares most pages with the server
CONNECTION_BYTES: Final = 300 * 1024  # at worst: TLS, a head, and the piece of a long body that waits for room
MIN_LONG_REQUEST_BYTES: Final = 256 * MIB  # with less, ordinary lists and graphs would be refused
# of what long requests get: each of their processes, and bodies of admission; the rest is for bodies and answers of conversions
_PROCESS, _ADMISSION = 0.19, 0.06
_LIMIT_FILES: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_UNLIMITED_BYTES: Final = 1 << 50  # version 1 of control groups writes a number near 2^63 for none


def container_limit(files: Iterable[Path] = _LIMIT_FILES) -> int:
    """The memory limit of this container in bytes, or DEFAULT."""
    for file in files:
        try:
            limit = int(file.read_text(encoding="ascii"))
        except (OSError, ValueError):  # another version of control groups, or "max"
            continue
        if limit < _UNLIMITED_BYTES:
            return limit
    return DEFAULT_BYTES


def parts(limits: Limits) -> dict[str, int]:
    """The most that each part of a server may take, in bytes."""
    return {
        "server": SERVER_BYTES,
        "connections": limits.connections * CONNECTION_BYTES,
        "process that watches the cluster": WATCHER_BYTES,
        "process that forks": FORKER_BYTES,
        "processes of long requests": (1 + MAX_CONCURRENT_CONVERSIONS) * limits.request_memory,
        "bodies of long admission requests": limits.room,
        "bodies and answers of long conversions": limits.conversion_room,
    }


def divide_memory(limits: Limits, memory: int, conversion_body: int = 0) -> Limits:
    """The limits whose parts fit into `memory` bytes; `conversion_body` is the wanted bound, 0 for the largest."""
    fixed = sum(parts(limits._replace(request_memory=0, room=0, conversion_room=0)).values())
    share = max(MIN_LONG_REQUEST_BYTES, memory - fixed)
    process, room = int(share * _PROCESS), max(int(share * _ADMISSION), limits.body)
    conversion_room = share - (1 + MAX_CONCURRENT_CONVERSIONS) * process - room
    return limits._replace(
        request_memory=process,
        room=room,
        conversion_room=conversion_room,
        conversion_body=min(conversion_body or conversion_room, conversion_room // ANSWER_FACTOR),
    )
