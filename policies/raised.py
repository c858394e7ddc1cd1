"""Logs the traceback of an internal error, unless the caller reports it another way.

Imports `logging` only then: a check without errors starts without it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Final

_mode: Final = SimpleNamespace(silent=False)


@contextmanager
def silently(silent: bool = True) -> Iterator[None]:
    """Suppresses the log in its block, if `silent`."""
    before, _mode.silent = _mode.silent, silent
    try:
        yield
    finally:
        _mode.silent = before


def log(what: str, error: Exception) -> None:
    """Logs an exception with its traceback; `what` names the part that raised it."""
    if not _mode.silent:
        import logging

        logging.getLogger("policies").error("%s raised", what, exc_info=error)
