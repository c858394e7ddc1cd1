"""What `diff` prints: lines by object for people, or one JSON document. Values that may be secrets are hidden in both."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ....api.paths import format_path
from ....api.wording import escape_unprintable, shorten
from ...objects.manifest import Manifest
from ...objects.stored import format_place
from ...validation.finding import LocatedFinding
from ...yaml.load import InputError
from . import run
from .compare import ADDED, ORDER, REMOVED
from .differences import Difference
from .run import Compared
from .secrets import HIDDEN, mask_secrets

FORMAT: Final = 1
LONGEST: Final = 160  # characters of one value in a line
LONGEST_PATH: Final = 2_000


def text(results: Iterable[Compared]) -> str:
    """The differences, object by object."""
    return "".join(f"{escape_unprintable(line)}\n" for one in results for line in _lines(one))


def document(results: Sequence[Compared], unreadable: Sequence[InputError], code: int) -> dict[str, Any]:
    """Everything as data; fields are only ever added."""
    return {
        "format": FORMAT,
        "objects": [_object(one) for one in results],
        "unreadable": [error.as_data() for error in unreadable],
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


def _lines(one: Compared) -> Iterator[str]:
    if one.what == run.EQUAL:
        return
    yield f"{one.pair.identity}  {_where(one)}"
    if one.failure:
        yield f"  can't be compared: {shorten(one.failure, LONGEST_PATH)}"
    for difference in one.differences:
        yield f"  {_line(difference, one.version)}"
    for finding in one.findings:
        yield f"  ! {_finding(finding)}"


def _where(one: Compared) -> str:
    places = [format_place(found) for found in (one.pair.old, one.pair.new) if found is not None]
    if one.what in (run.ADDED, run.REMOVED):
        return f"only in {places[0]}"
    return " -> ".join(places)


def _line(difference: Difference, version: str) -> str:
    change = difference.change
    field = shorten(format_path(change.path), LONGEST_PATH)
    said = f" (a field of {difference.version})" if difference.version != version else ""
    mark = {ADDED: "+", REMOVED: "-"}.get(change.what, "~")
    before, after = (_shown(mask_secrets(value, change.path, secret=change.secret)) for value in (change.before, change.after))
    if change.what == ADDED:
        return f"{mark} {field}: {after}{said}"
    if change.what == REMOVED:
        return f"{mark} {field}: {before}{said}"
    if before == after and HIDDEN in before:
        return f"{mark} {field}: {before}, another value{said}"
    what = "order " if change.what == ORDER else ""
    return f"{mark} {field}: {what}{before} -> {after}{said}"


def _shown(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str), LONGEST)


def _finding(finding: LocatedFinding) -> str:
    place = f"{finding.source.name}:{finding.position.line}:{finding.position.column}"
    return f"{place} {finding.level} {finding.rule} ({finding.code}): {finding.path}{': ' * bool(finding.path)}{finding.message}"


def _object(one: Compared) -> dict[str, Any]:
    return {
        "object": one.pair.identity._asdict(),
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


def _found(found: Manifest | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"file": found.document.source.name, "line": found.document.position(()).line, "version": found.version}


def _difference(difference: Difference) -> dict[str, Any]:
    change = difference.change
    return {
        "path": format_path(change.path),
        "version": difference.version,
        "what": change.what,
        "before": mask_secrets(change.before, change.path, secret=change.secret),
        "after": mask_secrets(change.after, change.path, secret=change.secret),
    }
