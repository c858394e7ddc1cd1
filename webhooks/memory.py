"""How a server divides the memory that it may use: bounds of bodies and of the processes that answer long requests follow from one number.

What one worker may hold at most: its own heap, the bodies and answers in its room, and the processes of long requests. The sum over all
workers, with the processes beside them, stays below the limit of the container.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.webhooks.bodies import WITH_ANSWER
from dynamo_webhooks.webhooks.executor.executor import CONVERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.webhooks.limits import Limits

MIB: Final = 1024 * 1024
DEFAULT: Final = 2048 * MIB  # where nothing limits the container: what the manifests give it
BESIDE: Final = 256 * MIB  # first process, supervisor, and the process that watches the cluster; 170 MiB were measured
OWN: Final = 96 * MIB  # a worker without long requests: 70 MiB were measured, and its connections
LEAST: Final = 256 * MIB  # a worker's share: with less, ordinary lists and graphs would be refused
# of a worker's share: each process of a long request, and bodies of admission; the rest is for bodies and answers of conversions
_PROCESS, _ADMISSION = 0.2, 0.05
_LIMIT_FILES: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_NO_LIMIT: Final = 1 << 50  # version 1 of control groups writes a number near 2^63 for none


def container_limit(files: Iterable[Path] = _LIMIT_FILES) -> int:
    """The memory limit of this container in bytes, or DEFAULT."""
    for file in files:
        try:
            said = int(file.read_text(encoding="ascii"))
        except (OSError, ValueError):  # another version of control groups, or "max"
            continue
        if said < _NO_LIMIT:
            return said
    return DEFAULT


def workers_for(memory: int, processors: int) -> int:
    """How many workers fit: one for each CPU, if each has its least share."""
    return max(1, min(processors, (memory - BESIDE) // (OWN + LEAST)))


def divided(limits: Limits, memory: int, workers: int, conversion_body: int = 0) -> Limits:
    """The limits whose sum over all workers stays below `memory` bytes; `conversion_body` is the wanted bound, 0 for the largest."""
    share = max(LEAST, (memory - BESIDE) // workers - OWN)
    process, room = int(share * _PROCESS), max(int(share * _ADMISSION), limits.body)
    conversion_room = share - (1 + CONVERSIONS) * process - room
    return limits._replace(
        request_memory=process,
        room=room,
        conversion_room=conversion_room,
        conversion_body=min(conversion_body or conversion_room, conversion_room // WITH_ANSWER),
    )
