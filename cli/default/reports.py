"""What `default` prints: a line an edit, JSON, patches, defaulted objects, or a diff of the files' own texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import printable, shortened
from dynamo_webhooks.cli.escaping import encoded
from dynamo_webhooks.cli.facts.load import flag_for
from dynamo_webhooks.policies.finding import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.default.edits import NamedEdit
    from dynamo_webhooks.cli.default.run import Changed, Outcome

FORMAT: Final = 1
LONGEST: Final = 200  # characters of one value in a line


def text(outcomes: Iterable[Outcome]) -> str:
    """A line for each edit: where it would stand, the object, the field, what it becomes, and which default wants it."""
    return "".join(f"{_line(one, edit)}\n" for one in _objects(outcomes) for edit in one.edits)


def document(outcomes: Sequence[Outcome], code: int) -> dict[str, Any]:
    """Everything as data; fields are only ever added."""
    return {
        "format": FORMAT,
        "objects": [_object(one) for one in _objects(outcomes)],
        "unreadable": [
            {"file": error.name, "line": error.line, "column": error.column, "message": error.text}
            for outcome in outcomes
            for error in outcome.unreadable
        ],
        "exit": code,
    }


def patches(outcomes: Iterable[Outcome]) -> str:
    """The server's patch of each object, one a line as in its answer; an empty list where nothing changes."""
    done = [one.patch for one in _objects(outcomes) if not one.failure]
    return "".join(encoded(patch) + "\n" for patch in done)


def objects(outcomes: Iterable[Outcome]) -> str:
    """Every object as written with the edits, as YAML documents."""
    from dynamo_webhooks.cli.rewrite.fresh import yaml_text

    return "---\n".join(yaml_text(one.object) for one in _objects(outcomes))


def diff(name: str, before: str, after: str) -> str:
    """The unified diff of one file, as `git apply` takes it; empty where nothing changes."""
    import posixpath

    from dynamo_webhooks.cli.rewrite.unified import unified

    old, new = (f"{side}/{posixpath.normpath(name).lstrip('/')}" for side in "ab")
    if not name.isprintable():
        old, new = json.dumps(old), json.dumps(new)
    made = unified(_lines(before), _lines(after), old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made)


def _lines(text: str) -> list[str]:
    """The lines with their ends; only a line feed ends one, since a text may hold other ends that must come out as they are."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + parts[-1:] * bool(parts[-1])


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
    """Whether a default of ours raised."""
    return any(finding.level is Level.FAULT for one in _objects(outcomes) for finding in one.idle)


def _objects(outcomes: Iterable[Outcome]) -> Iterator[Changed]:
    return (one for outcome in outcomes for one in outcome.objects)


def _line(one: Changed, edit: NamedEdit) -> str:
    line, column, _ = one.found.document.position(edit.path)
    name, field = one.found.document.source.name, shortened(render(edit.path), 2_000)
    becomes = f"set to {_shown(edit.after)}" if edit.before is None else f"{_shown(edit.before)} becomes {_shown(edit.after)}"
    return printable(f"{name}:{line}:{column} {edit.rule} ({edit.code}): {one.found.identity}: {field}: {becomes}")


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False, default=str), LONGEST)


def _object(one: Changed) -> dict[str, Any]:
    identity = one.found.identity
    return {
        "file": one.found.document.source.name,
        "line": one.found.document.position(()).line,
        "object": {"kind": identity.kind, "namespace": identity.namespace, "name": identity.name},
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
        "path": render(edit.path),
        "before": edit.before,
        "after": edit.after,
        "line": line,
        "column": column,
    }
