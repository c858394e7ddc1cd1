"""Lines of the access log."""

import re
from typing import Any, Final

import orjson

from .envelope import Verdict
from .log_text import word
from .routes import Route

# version, trace, span and flags; anything else in that header is a client's free text
_TRACE: Final = re.compile("[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def access_line(moment: str, route: Route | None, verdict: Verdict, seconds: float, traceparent: str = "") -> bytes:
    """The access log's line of one response: names, codes and rules, never a value of an object.

    `traceparent` is the request's header, logged if it is valid.
    """
    line: dict[str, Any] = {
        "ts": moment,
        "level": "error" if verdict.outcome == "fault" else "info",
        "logger": "access",
        "msg": verdict.outcome,
        "path": "" if route is None else route.path,
        "uid": word(verdict.uid),
        "kind": "" if route is None else route.kind,
        "version": "" if route is None else route.version,
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
