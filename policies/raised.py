"""What becomes of a fault of ours beside its finding: it is logged with its traceback, unless somebody tells faults in a way of their own.

The log is imported only then: a check that goes well starts without it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Hearing:
    __slots__ = ("silent",)

    def __init__(self) -> None:
        self.silent = False


_hearing: Final = _Hearing()


@contextmanager
def silently(silent: bool = True) -> Iterator[None]:
    """Logs no faults meanwhile, where `silent`."""
    before, _hearing.silent = _hearing.silent, silent
    try:
        yield
    finally:
        _hearing.silent = before


def log(what: str, error: Exception) -> None:
    """Logs a fault: what raised, and the traceback."""
    if not _hearing.silent:
        import logging

        logging.getLogger("policies").error("%s raised", what, exc_info=error)
