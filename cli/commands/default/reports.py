"""What `default` prints: a line an edit, JSON, patches, defaulted objects, or a diff of the files' own texts."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ....api.line import Line
from ....api.paths import format_path
from ....api.wording import escape_unprintable, shorten
from ....policies.finding import Level
from ...console.escaping import encode_json
from ...facts.load import flag_for
from ...rewrite.emit import emit_yaml
from .edits import NamedEdit
from .run import Changed, Outcome

FORMAT: Final = 1
LONGEST: Final = 200  # characters of one value in a line


def text(outcomes: Iterable[Outcome]) -> str:
    """A line for each edit: its position, the object, the field, the new value, and the default."""
    return "".join(f"{_line(one, edit)}\n" for one in _objects(outcomes) for edit in one.edits)


def document(outcomes: Sequence[Outcome], code: int) -> dict[str, Any]:
    """Everything as data; fields are only ever added."""
    return {
        "format": FORMAT,
        "objects": [_object(one) for one in _objects(outcomes)],
        "unreadable": [error.as_data() for outcome in outcomes for error in outcome.unreadable],
        "exit": code,
    }


def patches(outcomes: Iterable[Outcome]) -> str:
    """The server's patch of each object, one a line as in its answer; an empty list where nothing changes."""
    done = [one.patch for one in _objects(outcomes) if not one.failure]
    return "".join(encode_json(patch) + "\n" for patch in done)


def objects(outcomes: Iterable[Outcome]) -> str:
    """Every object as written with the edits, as YAML documents."""
    return "---\n".join(emit_yaml(one.object) for one in _objects(outcomes))


def idle(outcomes: Iterable[Outcome], line: Line) -> list[str]:
    """A sentence for each default that could not be asked: why, for how many objects, and what helps."""
    told: dict[tuple[str, str, str], int] = {}
    for one in _objects(outcomes):
        for finding in one.idle:
            key = finding.rule.name, finding.fact, finding.text
            told[key] = told.get(key, 0) + 1
    return [
        f"{rule} is not evaluated for {count} object{'s' * (count != 1)}: "
        + (f"the fact {fact} is not known; {flag_for(fact, line)} would supply it" if fact else reason)
        for (rule, fact, reason), count in sorted(told.items())
    ]


def failures(outcome: Outcome) -> Iterator[str]:
    """A line for everything that could not be read or asked."""
    yield from map(str, outcome.unreadable)
    for one in outcome.objects:
        if one.failure:
            line = one.found.document.position(()).line
            yield f"{outcome.source.name}:{line}: {one.found.identity}: {one.failure}"


def summary(outcomes: Iterable[Outcome]) -> str:
    """One line with the counts."""
    every = list(_objects(outcomes))
    changed = [one for one in every if one.edits]
    edits, failed = sum(len(one.edits) for one in changed), sum(bool(one.failure) for one in every)
    told = [f"{edits} edit{'s' * (edits != 1)} in {len(changed)}"] * bool(edits)
    told += [f"{failed} could not be judged"] * bool(failed)
    return f"{len(every)} object{'s' * (len(every) != 1)}: {', '.join(told) or 'nothing to fill in'}"


def has_fault(outcomes: Iterable[Outcome]) -> bool:
    """Whether a default raised an exception."""
    return any(finding.level is Level.FAULT for one in _objects(outcomes) for finding in one.idle)


def _objects(outcomes: Iterable[Outcome]) -> Iterator[Changed]:
    return (one for outcome in outcomes for one in outcome.objects)


def _line(one: Changed, edit: NamedEdit) -> str:
    line, column, _ = one.found.document.position(edit.path)
    name, field = one.found.document.source.name, shorten(format_path(edit.path), 2_000)
    becomes = f"set to {_shown(edit.after)}" if edit.before is None else f"{_shown(edit.before)} becomes {_shown(edit.after)}"
    return escape_unprintable(f"{name}:{line}:{column} {edit.rule} ({edit.code}): {one.found.identity}: {field}: {becomes}")


def _shown(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str), LONGEST)


def _object(one: Changed) -> dict[str, Any]:
    return {
        "file": one.found.document.source.name,
        "line": one.found.document.position(()).line,
        "object": one.found.identity._asdict(),
        "version": one.found.version,
        "edits": [_edit(one, edit) for edit in one.edits],
        "patch": one.patch,
        "notEvaluated": [{"rule": finding.rule.name, "code": finding.rule.code, "fact": finding.fact} for finding in one.idle],
        "failure": one.failure,
    }


def _edit(one: Changed, edit: NamedEdit) -> dict[str, Any]:
    line, column, _ = one.found.document.position(edit.path)
    return {
        "rule": edit.rule,
        "code": edit.code,
        "path": format_path(edit.path),
        "before": edit.before,
        "after": edit.after,
        "line": line,
        "column": column,
    }
