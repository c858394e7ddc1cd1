"""Placeholders that a template leaves in a manifest: `${NAME}`, `$(NAME)`, `<name>` and `{{ }}`. Each value with some is one finding.

Rules that read such a value wait: the object is judged without the value, and with a likely one, and the findings of both are reported.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, Final, NamedTuple

from ....api.paths import Path, format_path, lookup
from ....api.schema import Node, resolve, whole_schema
from ....api.shape import child
from ....api.wording import shorten
from ....policies.checks import UNFILLED
from ....policies.review import Fields
from ...objects.manifest import Manifest
from ...validation.finding import MAX_TEXT_CHARACTERS, LocatedFinding, NotEvaluated, ValidationOutcome, report_own
from ...validation.levels import DECODE, ERROR, FAULT, POLICIES, WARNING
from ...validation.pipeline import ValidationSettings, check_object
from ...yaml.load import Position

_WHOLE: Final = re.compile(r"\$\{[A-Za-z_][^{}]*\}|\$\([A-Za-z_]\w*\)|<[A-Za-z][\w .:/-]*>|\{\{[^{}]+\}\}")
_INSIDE: Final = re.compile(r"\$\{[A-Za-z_][^{}]*\}|<[A-Za-z][\w.:/-]*>|\{\{[^{}]+\}\}")  # a pod's own $(NAME) is none
_RENDER: Final = "Render the template first, and check the result"
_OF_SHELLS: Final = frozenset(("args", "command", "env", "envs", "lifecycle", "annotations"))  # hold such words for others
_LIKELY: Final = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
_VERSION: Final = "9999.0.0"  # the tag of an image of which no rule can say that it is too old
_MAX_PLACEHOLDER_CHARACTERS: Final = 60
_key = attrgetter("rule", "path", "message")  # of a finding


class _Placeholder(NamedTuple):
    """A value, or the key of one, that holds placeholders."""

    path: Path
    name: str  # the path as reports show it
    texts: tuple[str, ...]
    position: Position
    likely: Any  # a likely value
    key: bool
    sure: bool  # whether it is for us to say; else it may be for a shell or a container, unless the schema refuses it

    @property
    def remedy(self) -> str:
        """The fix that fills the first one."""
        text = self.texts[0]
        if text[0] == "<":
            return f"Write a value for {shorten(text, _MAX_PLACEHOLDER_CHARACTERS)}"
        return "Fill it first, and check the result: envsubst < FILE | dynamo-webhooks check -" if text[0] == "$" else _RENDER

    @property
    def text(self) -> str:
        """The placeholders."""
        return shorten(", ".join(shorten(text, _MAX_PLACEHOLDER_CHARACTERS) for text in self.texts), 5 * _MAX_PLACEHOLDER_CHARACTERS)


class _FieldContext(NamedTuple):
    path: Path
    node: Node | None
    sure: bool

    def below(self, step: str | int) -> _FieldContext:
        named, node = child(self.node, step)
        return _FieldContext((*self.path, named), node, self.sure and step not in _OF_SHELLS)


def _find_placeholders(manifest: Manifest) -> list[_Placeholder]:
    """The values and keys of an object that hold placeholders, once for each place in the file."""
    document = manifest.document
    opened: dict[Position, _Placeholder] = {}
    root = _FieldContext((), whole_schema(manifest.identity.kind, manifest.version) if manifest.known else None, sure=True)
    for field, text, key in _texts(document.data, root):
        texts, sure = _placeholders(text, field)
        if texts:
            position = document.position(field.path) if key else document.value_position(field.path)
            name = shorten(format_path(field.path), MAX_TEXT_CHARACTERS)
            opened.setdefault(position, _Placeholder(field.path, name, texts, position, _likely(text, texts, field, key=key), key, sure))
    return [*opened.values()]


def _texts(value: Any, field: _FieldContext) -> Iterator[tuple[_FieldContext, str, bool]]:
    if isinstance(value, str):
        yield field, value, False
    elif isinstance(value, dict):
        for name, inner in value.items():
            below = field.below(name)
            yield below, name, True
            yield from _texts(inner, below)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, field.below(index))


def _placeholders(text: str, field: _FieldContext) -> tuple[tuple[str, ...], bool]:
    """The placeholders in a text; those inside longer texts only where a schema knows the field."""
    if "$" not in text and "<" not in text and "{{" not in text:
        return (), False
    if _WHOLE.fullmatch(text):
        return (text,), field.sure and not text.startswith("$(")
    known = field.node is not None or field.path[0] == "metadata"
    return (tuple(dict.fromkeys(_INSIDE.findall(text))), field.sure) if known else ((), False)


def _likely(text: str, texts: tuple[str, ...], field: _FieldContext, *, key: bool) -> Any:
    node = resolve(field.node or {})
    if not key and texts == (text,):
        if enum := node.get("enum"):
            return enum[0]
        if node.get("x-kubernetes-int-or-string"):
            return "1"
        if (kind := node.get("type")) in _LIKELY:
            return copy.copy(_LIKELY[kind])
    filled = _INSIDE.sub("x", re.sub(rf":(?:{_INSIDE.pattern})$", f":{_VERSION}", text))
    return f"{filled}:{_VERSION}" if field.path[-1] == "image" and ":" not in filled else filled


def check_unfilled(manifest: Manifest, operation: str, old: Fields | None, settings: ValidationSettings) -> ValidationOutcome:
    """Check an object that may have placeholders. Its data are changed on the way, as by `check_object`."""
    opened = _find_placeholders(manifest)
    written = copy.deepcopy(manifest.data) if opened else {}
    given = check_object(manifest, operation, old, settings)
    refused = {finding.position for finding in given.findings if finding.stage != POLICIES and finding.level == ERROR}
    opened = [holder for holder in opened if holder.sure or holder.position in refused]
    if not opened:
        return given
    without, filled = (
        check_object(_changed(manifest, written, opened, remove=remove), operation, old, settings) for remove in (True, False)
    )
    twice = {_key(finding) for finding in without.findings}
    kept = [finding for finding in filled.findings if _key(finding) in twice or finding.level == FAULT]
    known = {_key(finding) for finding in kept}
    gone = [finding for finding in given.findings if _key(finding) not in known]
    notes = set(given.not_evaluated) - set(filled.not_evaluated)
    if any(finding.stage == POLICIES and finding.position not in {each.position for each in opened} for finding in gone) or notes:
        filled.not_evaluated.append(_note(manifest, opened))
    for holder in opened:
        text = f"must hold no placeholder, got {holder.text}"
        source, level = manifest.document.source, _level(holder, gone)
        made = report_own(UNFILLED, level, DECODE, source, holder.position, manifest.identity, holder.name, text)
        kept.append(made._replace(fix=holder.remedy))
    return ValidationOutcome(kept, filled.not_evaluated)


def _level(holder: _Placeholder, findings: list[LocatedFinding]) -> str:
    """Whether a server refuses the placeholder, there or in what holds it."""
    for each in findings:
        holds = each.stage != POLICIES and holder.name.startswith(each.path) and holder.name[len(each.path) :][:1] in ("", ".", "[")
        if each.level == ERROR and (holds or each.position == holder.position):
            return ERROR
    return WARNING


def _changed(manifest: Manifest, written: Fields, opened: list[_Placeholder], *, remove: bool) -> Manifest:
    """The object without the values that hold placeholders, or with likely ones; keys and items of lists are likely ones in any case."""
    document = copy.copy(manifest.document)
    document.data = copy.deepcopy(written)
    for holder in sorted(opened, key=lambda holder: -len(holder.path)):  # values below a key before the key
        parent, step = lookup(document.data, holder.path[:-1]), holder.path[-1]
        if holder.key and isinstance(parent, dict) and step in parent:
            parent[holder.likely] = parent.pop(step)
        elif remove and isinstance(parent, dict):
            parent.pop(step, None)
        elif isinstance(parent, (dict, list)):
            parent[step] = holder.likely  # type: ignore[index]  # a path fits the data that it was made from
    return manifest._replace(document=document)


def _note(manifest: Manifest, opened: list[_Placeholder]) -> NotEvaluated:
    texts = [*dict.fromkeys(text for holder in opened for text in holder.texts)]
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    document = manifest.document
    reason = f"rules that read {shorten(texts[0], _MAX_PLACEHOLDER_CHARACTERS)}{more} wait until a value is there"
    return NotEvaluated("policies", "", document.source, document.position(()).line, manifest.identity, reason, "")
