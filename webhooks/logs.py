"""Writes the records of Python's logging as JSON, one object a line, never with a value of an object."""

import logging
import traceback
from collections.abc import Callable
from typing import Any, Final

import orjson

from ..api.operator.server import Logging
from .log_lines import Lines
from .log_text import stamp, word

MAX_MESSAGE_CHARACTERS: Final = 2_000


class JsonHandler(logging.Handler):
    """Writes ordinary log records as JSON lines; of an exception only its type and where it came from, for its text may hold values."""

    def __init__(self, add: Callable[[bytes], None]) -> None:
        """`add` takes a line with its newline."""
        super().__init__()
        self._add = add

    def emit(self, record: logging.LogRecord) -> None:
        """Adds one record."""
        line: dict[str, Any] = {
            "ts": stamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": word(record.getMessage(), MAX_MESSAGE_CHARACTERS),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = type(record.exc_info[1]).__name__
            line["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(record.exc_info[2])[-12:]]
        self._add(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def install(lines: Lines, wanted: Logging | None = None) -> logging.Handler:
    """Send all log records of this process to the lines, and return the handler; JSON from level info by default.

    Access lines have level info; internal errors are always logged.
    """
    root = logging.getLogger()
    handler = JsonHandler(lines.add)
    root.handlers[:] = [other for other in root.handlers if not isinstance(other, JsonHandler)] + [handler]
    root.setLevel(wanted.level.upper() if wanted is not None else logging.INFO)
    lines.console = wanted is not None and wanted.format == "console"
    return handler


def remove(handler: logging.Handler) -> None:
    """Undo `install`, for a process that continues after its server."""
    logging.getLogger().removeHandler(handler)
