"""Formats lines of the access log: names, codes and rules, never a value of an object. logs.py writes them."""

from __future__ import annotations

import re
import time
from typing import Any, Final

import orjson

from .envelope import Verdict
from .logs import Stamp, word
from .routes import Route

# version, trace, span and flags; anything else in that header is a client's free text
_TRACE: Final = re.compile("[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class Access:
    """Makes the lines of one server."""

    __slots__ = ("_stamp",)

    def __init__(self) -> None:
        self._stamp = Stamp()

    def line(self, route: Route | None, verdict: Verdict, seconds: float, traceparent: str = "") -> bytes:
        """The line of one response, with its newline; `traceparent` is the request's header, logged if it is valid."""
        line: dict[str, Any] = {
            "ts": self._stamp.text(time.time()),
            "level": "error" if verdict.outcome == "fault" else "info",
            "logger": "access",
            "msg": verdict.outcome,
            "path": route.path if route is not None else "",
            "uid": word(verdict.uid),
            "kind": route.kind if route is not None else "",
            "version": route.version if route is not None else "",
            "namespace": word(verdict.namespace),
            "name": word(verdict.name),
            "operation": verdict.operation,
            "allowed": verdict.outcome in ("allowed", "converted"),
            "code": verdict.code,
            "rules": verdict.rules,
            "duration_ms": int(seconds * 1e6) / 1000,
        }
        if traceparent and _TRACE.fullmatch(traceparent):
            line["traceparent"] = traceparent
        if verdict.skipped:
            line["skipped"] = verdict.skipped
        if verdict.patched:
            line["patched"] = verdict.patched
        if verdict.tally is not None:
            line["objects"] = verdict.tally.objects
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
