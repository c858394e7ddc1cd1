"""What `diff` prints: lines by object for people, or one JSON document. Values that may be secrets are hidden in both."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import printable, shortened
from dynamo_webhooks.cli.diff import run
from dynamo_webhooks.cli.diff.compare import ADDED, ORDER, REMOVED
from dynamo_webhooks.cli.diff.secrets import HIDDEN, masked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dynamo_webhooks.cli.check.objects import Found
    from dynamo_webhooks.cli.check.record import Reported
    from dynamo_webhooks.cli.diff.differences import Difference
    from dynamo_webhooks.cli.diff.run import Compared
    from dynamo_webhooks.cli.yaml.load import InputError

FORMAT: Final = 1
LONGEST: Final = 160  # characters of one value in a line
LONGEST_PATH: Final = 2_000


def text(results: Iterable[Compared], *, spelling: bool) -> str:
    """The differences, object by object; with those of spelling where they are asked for."""
    return "".join(f"{printable(line)}\n" for one in results for line in _lines(one, spelling=spelling))


def document(results: Sequence[Compared], unreadable: Sequence[InputError], code: int) -> dict[str, Any]:
    """Everything as data; fields are only ever added."""
    return {
        "format": FORMAT,
        "objects": [_object(one) for one in results],
        "unreadable": [{"file": error.name, "line": error.line, "column": error.column, "message": error.text} for error in unreadable],
        "summary": {**counts(results), "exit": code},
    }


def counts(results: Iterable[Compared]) -> dict[str, int]:
    """How many objects became what."""
    found = Counter(one.what for one in results)
    return {what: found[what] for what in (run.ADDED, run.REMOVED, run.CHANGED, run.EQUAL, run.FAILED)}


def summary(results: Sequence[Compared]) -> str:
    """One line with the counts."""
    told = [f"{count} {what}" for what, count in counts(results).items() if count]
    rewritten = sum(one.rewritten for one in results)
    more = f" ({rewritten} of them written differently)" if rewritten else ""
    return f"{len(results)} object{'s' * (len(results) != 1)}: {', '.join(told)}{more}"


def _lines(one: Compared, *, spelling: bool) -> Iterator[str]:
    told = [*one.differences, *(one.spelling if spelling else [])]
    if one.what == run.EQUAL and not told:
        return
    yield f"{one.pair.identity}  {_where(one)}"
    if one.failure:
        yield f"  can't be compared: {shortened(one.failure, LONGEST_PATH)}"
    for difference in told:
        yield f"  {_line(difference, one.version)}"
    for finding in one.findings:
        yield f"  ! {_finding(finding)}"


def _where(one: Compared) -> str:
    places = [_place(found) for found in (one.pair.old, one.pair.new) if found is not None]
    if one.what in (run.ADDED, run.REMOVED):
        return f"only in {places[0]}"
    return " -> ".join(places)


def _place(found: Found) -> str:
    return f"{found.document.source.name}:{found.document.position(()).line}"


def _line(difference: Difference, version: str) -> str:
    change = difference.change
    field = shortened(render(change.path), LONGEST_PATH)
    said = f" (a field of {difference.version})" if difference.version != version else ""
    mark = "=" if change.spelling else {ADDED: "+", REMOVED: "-"}.get(change.what, "~")
    before, after = (_shown(masked(value, change.path, secret=change.secret)) for value in (change.before, change.after))
    end = ", which mean the same" if change.spelling else ""
    if change.what == ADDED:
        return f"{mark} {field}: {after}{said}{', which is the default' * bool(end)}"
    if change.what == REMOVED:
        return f"{mark} {field}: {before}{said}{', which is the default' * bool(end)}"
    if before == after and HIDDEN in before:
        return f"{mark} {field}: {before}, another value{said}"
    what = "order " if change.what == ORDER else ""
    return f"{mark} {field}: {what}{before} -> {after}{said}{end}"


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False, default=str), LONGEST)


def _finding(finding: Reported) -> str:
    place = f"{finding.source.name}:{finding.position.line}:{finding.position.column}"
    return f"{place} {finding.level} {finding.rule} ({finding.code}): {finding.path}{': ' * bool(finding.path)}{finding.message}"


def _object(one: Compared) -> dict[str, Any]:
    identity = one.pair.identity
    return {
        "object": {"kind": identity.kind, "namespace": identity.namespace, "name": identity.name},
        "what": one.what,
        "old": _found(one.pair.old),
        "new": _found(one.pair.new),
        "version": one.version,
        "differences": [_difference(difference) for difference in one.differences],
        "spelling": [_difference(difference) for difference in one.spelling],
        "writtenDifferently": one.rewritten,
        "findings": [
            {
                "file": finding.source.name,
                "line": finding.position.line,
                "column": finding.position.column,
                "path": finding.path,
                "rule": finding.rule,
                "code": finding.code,
                "level": finding.level,
                "message": finding.message,
            }
            for finding in one.findings
        ],
        "failure": one.failure,
    }


def _found(found: Found | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"file": found.document.source.name, "line": found.document.position(()).line, "version": found.version}


def _difference(difference: Difference) -> dict[str, Any]:
    change = difference.change
    return {
        "path": render(change.path),
        "version": difference.version,
        "what": change.what,
        "before": masked(change.before, change.path, secret=change.secret),
        "after": masked(change.after, change.path, secret=change.secret),
    }
