"""What a forked process does with the open files of its parent."""

from __future__ import annotations

import contextlib
import os
from typing import Final

MOST_DESCRIPTORS: Final = 65_536  # numbers are given out from below: a supervisor never has so many


def release(kept: set[int]) -> None:
    """Lets go of all open files but `kept`: what others serve, and connections, which would not end when the parent ends them.

    Their numbers stay taken, since objects of the parent that die here may close them.
    """
    nothing, _ = os.pipe()  # there need not be a /dev/null
    for descriptor in _open() - kept - {nothing}:
        with contextlib.suppress(OSError):  # it is none: the one with which the others were listed
            os.fstat(descriptor)
            os.dup2(nothing, descriptor, inheritable=False)


def _open() -> set[int]:
    try:
        return {int(name) for name in os.listdir("/dev/fd")}  # noqa: PTH208 - pathlib has no use here
    except OSError:  # nobody has mounted /proc
        return set(range(MOST_DESCRIPTORS))
