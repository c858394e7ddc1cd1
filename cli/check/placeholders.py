"""What a template leaves open in a manifest: `${NAME}`, `$(NAME)`, `<name>` and `{{ }}`. All of one file is one finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.schema import whole_schema
from dynamo_webhooks.api.shape import child
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check.record import DECODE, ERROR, FAULT, POLICIES, UNFILLED, WARNING, Reported, own

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.api.schema import Node
    from dynamo_webhooks.cli.check.objects import Found
    from dynamo_webhooks.cli.yaml.load import Position, Source

_SHAPE: Final = r"\$\{[A-Za-z_][^{}]*\}|\$\([A-Za-z_]\w*\)|<[A-Za-z][\w .:/-]*>|\{\{.*?\}\}"
_WHOLE: Final = r"\$\{[A-Za-z_][^{}]*\}|<[A-Za-z][\w .:/-]*>|\{\{[^{}]*\}\}"  # a pod's own $(NAME) is none
_HINTS: Final = ("${", "$(", "<", "{{")
_OF_SHELLS: Final = frozenset(("args", "command", "env", "envs", "lifecycle", "annotations"))  # hold such words for others
_NAMED: Final = 5
_SHOWN: Final = 60  # characters of one
LONGEST: Final = 2_000  # characters of a path


class Open(NamedTuple):
    """A placeholder at its place."""

    text: str
    position: Position
    path: str
    found: Found


def held(source: Source, found: Found) -> list[Open]:
    """The values of an object that are placeholders as a whole, and no text for a shell."""
    if not any(map(source.holds, _HINTS)):
        return []
    document, schema = found.document, whole_schema(found.identity.kind, found.version) if found.known else None
    return [Open(text, document.value_position(path), _named(path, schema), found) for path, text in _texts(found.data, ())]


def _named(path: Path, node: Node | None) -> str:
    """A path as reports print it, keys of maps in brackets."""
    steps: list[str | int] = []
    for step in path:
        below, node = child(node, step)
        steps.append(below)
    return shortened(render(tuple(steps)), LONGEST)


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        if value[:1] in ("$", "<", "{") and re.fullmatch(_WHOLE, value):
            yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in _OF_SHELLS:
                yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*path, index))


def merged(source: Source, findings: list[Reported], open_: Sequence[Open]) -> list[Reported]:
    """The findings of a file, with one in place of all that speak of placeholders; it is as severe as the worst of them."""
    if not any(map(source.holds, _HINTS)):
        return findings
    texts = {id(one): text for one in findings if one.level != FAULT and (text := _at(one))}
    if not texts and not open_:
        return findings
    about = [one for one in findings if id(one) in texts]
    level = ERROR if any(one.level == ERROR for one in about) else WARNING
    first = min((*(one.position for one in about), *(one.position for one in open_)))
    where = next(((one.identity, one.path) for one in about if one.position == first), None)
    identity, path = where or next((one.found.identity, one.path) for one in open_ if one.position == first)
    lines = [*((one.position.line, one.text) for one in open_), *((one.position.line, texts[id(one)]) for one in about)]
    places = {text: line for line, text in sorted(lines, reverse=True)}  # the first line of each
    said = own(UNFILLED, level, DECODE, source, first, identity, path, _sentence(places))
    return [*(one for one in findings if id(one) not in texts), said]


def _sentence(places: dict[str, int]) -> str:
    words = [f"{shortened(text, _SHOWN)} on line {line}" for text, line in sorted(places.items(), key=lambda pair: (pair[1], pair[0]))]
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return f"is a placeholder that nothing fills; this file holds {', '.join(words[:_NAMED])}{more}"


def _at(finding: Reported) -> str:
    """The placeholder in what a finding marks; empty where that holds none."""
    lines, (line, column, end) = finding.source.lines, finding.position
    marked = lines[line - 1][column - 1 : end - 1] if line <= len(lines) else ""
    if marked[:1] in ("{", "[") and not marked.startswith("{{"):  # what is missing in an object on one line is no matter of its texts
        return ""
    fill = finding.source.fill
    open_ = (text for text in re.findall(_SHAPE, marked) if fill is None or fill.veiled(text) == text)
    # rules read texts of pods, too, where $(NAME) is a variable of the container
    return next((text for text in open_ if finding.stage != POLICIES or not text.startswith("$(")), "")
