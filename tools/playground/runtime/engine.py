"""The engine of the playground's worker: runs commands on one text, in this process, and returns what they printed as JSON."""

import io
import json
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final

from dynamo_webhooks.api.line import DEFAULT_LINE, Line
from dynamo_webhooks.cli.main import main

FILE: Final = "input.yaml"  # in the current folder; reports name it
MAX_EXPLAINED_RULES: Final = 8  # rules that are explained at once
_CONVERT: Final = ("convert", "v1alpha1", "v1beta1")
_MANIFEST: Final = re.compile(r'^\s*(?:[-{\[]\s*)*"?(?:apiVersion|kind)"?\s*:', re.MULTILINE)
_VERSION: Final = re.compile(r"nvidia\.com/(v1alpha1|v1beta1)")
_KIND: Final = re.compile(r'\bkind"?:\s*"?(Dynamo\w+)')


def describe() -> str:
    """The lines of the operator, the usual one, and all rules and defaults that have a page."""
    rules = json.loads(_run(["rules", "-o", "json"])[0])
    return json.dumps({"lines": list(Line), "usual": DEFAULT_LINE, "rules": [each["name"] for each in rules]})


def answer(text: str, view: str, line: str, facts: str) -> str:
    """Returns the findings of `check` and what the command of a view prints. A text that is no manifest is a message to explain."""
    settings = ["--no-project", "--line", line]
    known = [word for fact in facts.split() for word in ("--set-fact", fact)]
    match = _VERSION.search(text)
    reply: dict[str, Any] = {"view": view, "version": match[1] if match else "", "text": "", "notes": "", "code": 0}
    if not text.strip():
        return json.dumps(reply)
    if not _MANIFEST.search(text):
        reply["view"] = "explain"
        reply["text"], reply["notes"], reply["code"] = _run(["explain", "-"], text)
        return json.dumps(reply)
    Path(FILE).write_bytes(text.encode("utf-8", "surrogatepass"))
    extra = ["--answer"] if view == "answer" else []
    report, reply["notes"], reply["code"] = _run(["check", FILE, "-o", "json", *extra, *settings, *known])
    reply["report"] = json.loads(report) if report else None
    found_by_check: dict[str, Any] = reply["report"] or {"findings": [], "answers": []}
    if view == "answer":
        reply["text"] = "".join(f"{each['printed']}\n" for each in found_by_check["answers"])
    elif view == "explain":
        words = list(dict.fromkeys(each["rule"] for each in found_by_check["findings"]))[:MAX_EXPLAINED_RULES] or _KIND.findall(text)[:1]
        reply["text"] = "\n".join(_run(["explain", word])[0] for word in words)
    elif view in (*_CONVERT, "default", "render"):
        reply["text"], reply["notes"], reply["code"] = _run(
            [*_command(view, reply["version"]), *settings, *([] if view in _CONVERT else known)]
        )
    return json.dumps(reply)


def _command(view: str, version: str) -> list[str]:
    """The command of a view; a version as view converts to it."""
    if view in _CONVERT:
        other = "v1alpha1" if version == "v1beta1" else "v1beta1"
        return ["convert", FILE, "--to", other if view == "convert" else view]
    return [view, FILE]


def _run(words: Sequence[str], stdin: str = "") -> tuple[str, str, int]:
    """Runs one command: stdout, stderr, exit code."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogatepass")), "utf-8", "replace")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(words)
    finally:
        sys.stdin = before
    printed, notes = (stream.buffer.getvalue().decode() for stream in (out, err))
    return printed, notes, code
