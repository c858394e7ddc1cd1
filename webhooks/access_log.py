"""Lines of the access log."""

import re
from typing import Final

import orjson

from .envelope import Verdict
from .logs import word
from .routes import Route

# version, trace, span and flags; anything else in that header is a client's free text
_TRACE: Final = re.compile("[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def _quoted(text: str) -> str:
    """A verdict's text, which is short, as JSON."""
    return f'"{text}"' if text.isprintable() and '"' not in text and "\\" not in text else orjson.dumps(word(text)).decode()


def access_line(moment: str, route: Route | None, verdict: Verdict, seconds: float, traceparent: str = "") -> bytes:
    """The access log's line of one response: names, codes and rules, never a value of an object.

    `traceparent` is the request's header, logged if it is valid. JSON is put together here: our own words need no escapes.
    """
    path, kind, version = ("", "", "") if route is None else (route.path, route.kind, route.version)
    level = "error" if verdict.outcome == "fault" else "info"
    allowed = "true" if verdict.outcome in ("allowed", "converted") else "false"
    rules = orjson.dumps(verdict.rules).decode() if verdict.rules else "[]"
    line = (
        f'{{"ts":"{moment}","level":"{level}","logger":"access","msg":"{verdict.outcome}","path":"{path}","uid":{_quoted(verdict.uid)},'
        f'"kind":"{kind}","version":"{version}","namespace":{_quoted(verdict.namespace)},"name":{_quoted(verdict.name)},'
        f'"operation":"{verdict.operation}","allowed":{allowed},"code":{verdict.code},"rules":{rules},'
        f'"duration_ms":{int(seconds * 1e6) / 1000}'
    )
    if traceparent and _TRACE.fullmatch(traceparent):
        line += f',"traceparent":"{traceparent}"'
    if verdict.skipped:
        line += f',"skipped":"{verdict.skipped}"'
    if verdict.patched:
        line += f',"patched":{verdict.patched}'
    if verdict.tally is not None:
        line += f',"objects":{verdict.tally.objects}'
    return (line + "}\n").encode()
