"""Answers editors' requests for one text: findings, meanings, completions, edits and the outline. Contains no protocol.

Each answer reads the whole text, so it costs what `check` of one file does. Lines and columns count from 1, in characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from ....api.kinds import ALPHA, BETA, GROUP
from ....api.paths import Path, lookup
from ....api.schema import Node, find_node, load_schema
from ...console.kubernetes import OLDEST_MINOR
from ...objects.manifest import Manifest, find_manifests
from ...rewrite.rewrite import NotWrittenError
from ...userrules.marks import PolicyMark, find_marks
from ...validation.finding import LocatedFinding, merge_duplicates
from ...validation.fixes import FieldEdit
from ...validation.pipeline import ValidationSettings
from ...yaml.comments import comments
from ...yaml.errors import InputError
from ...yaml.load import Document, Source, read_text
from ...yaml.positions import Extent, Position
from ..check.fix import apply_edits, write_comment
from ..check.run import AUTO, CheckRun
from ..check.selection import RuleSelection
from ..check.suppress import IGNORE, MARK
from ..explain import field, rule
from .expressions import describe_word, list_words
from .skeletons import SKELETONS

MAX_TEXT_CHARACTERS: Final = 2_000_000
MAX_EMPTY_CHARACTERS: Final = 10_000  # of a text without a value, such as a licence in comments
MAX_OFFERED_EDITS: Final = 10  # of single findings; each costs a look at the text and holds all of it
_HERE: Final = "dynamo-webhooks-cursor"
# before the cursor: a line's beginning, or text up to a bracket or comma, and an unfinished key or value
_ENTRY: Final = re.compile(r"(?P<lead>[ \t]*(?:- +)*|.*[{[,][ \t]*)(?:(?P<key>[\w./-]+):[ \t]+)?(?P<word>[\w./-]*)")
_BRACKET: Final = re.compile(r"""(?<!\S)\#.* | (?<!\w)(?: "(?:[^"\\]|\\.)*" | '[^']*' ) | (?P<bracket>[][{}])""", re.VERBOSE)
_EMPTY: Final = re.compile(r"(?>\s+|#.*|---)*+\w*+\s*+")  # comments, and an unfinished word


class CheckContext(NamedTuple):
    """The context in which texts are judged: settings of the moment, one choice of rules, the Git revision that restarts count from."""

    settings: Callable[[], ValidationSettings]
    selection: RuleSelection
    against: str = ""
    site: str = ""  # the address of the documentation
    minor: int = OLDEST_MINOR  # of the oldest Kubernetes that must accept policies
    reload: Callable[[], None] = lambda: None  # reads the users' own rules again


class TextFindings(NamedTuple):
    """The findings of a text."""

    findings: list[LocatedFinding]
    unreadable: list[InputError]
    marks: list[PolicyMark]  # of policies


class Completion(NamedTuple):
    """A text that can be written at a position."""

    text: str
    type: str
    description: str
    kind: Literal["Field", "EnumMember", "Snippet", "Function"]  # as the protocol names them
    insert: str  # a snippet has `${1:usual}` where values are written


class CodeAction(NamedTuple):
    """An edit that an editor can make: its title, the whole new text, and the finding if it mends a single one."""

    title: str
    text: str
    finding: LocatedFinding | None = None


def find_problems(name: str, text: str, context: CheckContext) -> TextFindings:
    """Everything that is wrong with a text; files of others are not looked at."""
    marks = find_marks(Source(name, text), context.minor, context.settings().line) if len(text) <= MAX_TEXT_CHARACTERS else []
    if not is_ours(text):
        return TextFindings([], [], marks)
    run = CheckRun(context.settings(), context.selection, AUTO, None)
    run.check_file(Source(name, text), "")
    result = run.result()
    return TextFindings(merge_duplicates(result.findings), result.unreadable, marks)


def is_ours(text: str) -> bool:
    """Whether a text may contain Dynamo objects, and is short enough to be checked during typing."""
    return GROUP in text and len(text) <= MAX_TEXT_CHARACTERS


def describe_at(name: str, text: str, context: CheckContext, line: int, column: int) -> str:
    """The meaning of the field at a position, as Markdown; empty unless it is a Dynamo field, or a name in an expression of a policy."""
    if len(text) <= MAX_TEXT_CHARACTERS and (description := describe_word(Source(name, text), line, column, context.settings().line)):
        return description
    at = _at(name, text, line, column)
    if at is None or not at[1]:
        return ""
    manifest, path = at
    kind = manifest.identity.kind
    page = field.find(kind + "".join("[*]" if isinstance(step, int) else f"[{step}]" for step in path))
    places = [location for location in (page or {}).get("places", ()) if location["kind"] == f"{kind}/{manifest.version}"]
    return field.markdown({"field": places[0]["path"], "places": places}) if places else ""


def list_completions(name: str, text: str, context: CheckContext, line: int, column: int) -> list[Completion]:
    """Lists what can be written at the cursor: fields, values of the field before it, names in expressions, or objects in an empty text."""
    if len(text) < MAX_EMPTY_CHARACTERS and _EMPTY.fullmatch(text):
        return [Completion(kind, "", "", "Snippet", skeleton) for kind, skeleton in SKELETONS.items()]
    lines = Source(name, text).lines
    if not 0 < line <= len(lines) or not is_ours(text):
        return []
    before, behind = lines[line - 1][: column - 1], lines[line - 1][column - 1 :]
    words = list_words(Source(name, text), line, column, context.settings().line, context.minor)
    if words is not None:
        kinds: dict[bool, Literal["Field", "Function"]] = {False: "Field", True: "Function"}
        return [Completion(word.text, word.type, word.description, kinds[word.is_function], word.text) for word in words]
    entry = _ENTRY.fullmatch(before)
    if entry is None:
        return []
    key = entry["key"]
    # an open bracket needs its end: that of the line, or one that is yet to be written
    rest = re.sub(r"[\w./-]*(:[ \t]+[^,{}[\]]*)?", "", behind, count=1) if _open_brackets(entry["lead"]) else ""
    for end in (rest, _open_brackets("\n".join([*lines[: line - 1], entry["lead"]]))):
        lines[line - 1] = f"{entry['lead']}{f'{key}: {_HERE}' if key else f'{_HERE}: 0'}{end}"
        for manifest in list_objects(name, "\n".join(lines)):
            path = next(_paths(manifest.data, key), None)
            if path is not None and manifest.known:
                node = find_node(load_schema(manifest.identity.kind, manifest.version, context.settings().line), path)
                return [] if node is None else _values(node) if key else _fields(node, lookup(manifest.data, path))
    return []


def _open_brackets(text: str) -> str:
    """The characters that close the brackets open at the end of a text."""
    closing: list[str] = []
    for match in _BRACKET.finditer(text):
        if (bracket := match["bracket"]) in ("{", "["):
            closing.append("}" if bracket == "{" else "]")
        elif bracket and closing:
            closing.pop()
    return "".join(reversed(closing))


def list_code_actions(name: str, text: str, context: CheckContext, first: int, last: int) -> list[CodeAction]:
    """The edits for findings on some lines, one for all findings of the text, and the conversion of v1alpha1 objects."""
    source, whole = Source(name, text), _find_mendable(name, text, context)
    here = [finding for finding in whole if first <= finding.position.line <= last]
    fixes = [_edited(source, f"{finding.fix or finding.message} ({finding.rule})", [finding]) for finding in here[:MAX_OFFERED_EDITS]]
    fixes += [_edited(source, _title(whole), whole)] if len(whole) > 1 else []
    return [action for action in fixes if action is not None] + _converted(name, text, context)


def fix_all(name: str, text: str, context: CheckContext) -> CodeAction | None:
    """The edit for all findings of a text, if it has one for any."""
    whole = _find_mendable(name, text, context)
    return _edited(Source(name, text), _title(whole), whole)


def _find_mendable(name: str, text: str, context: CheckContext) -> list[LocatedFinding]:
    """The findings with an edit; two rules may have one remedy."""
    return list(
        {finding.edit: finding for finding in reversed(find_problems(name, text, context).findings) if finding.edit is not None}.values()
    )[::-1]


def _title(whole: list[LocatedFinding]) -> str:
    return f"Fix all {len(whole)} in this file"


def _edited(source: Source, title: str, findings: Sequence[LocatedFinding]) -> CodeAction | None:
    edits: dict[int, list[FieldEdit]] = {}
    for finding in findings:
        if finding.edit is not None:
            edits.setdefault(finding.edit.number, []).append(finding.edit)
    try:
        text = apply_edits(source, edits)
    except NotWrittenError:
        return None
    return CodeAction(title, text, findings[0] if len(findings) == 1 else None) if text != source.text else None


def _converted(name: str, text: str, context: CheckContext) -> list[CodeAction]:
    from ..convert.run import convert_accepted

    if f"{GROUP}/{ALPHA}" not in text or not is_ours(text):
        return []
    outcome, refused = convert_accepted(name, text, BETA, line=context.settings().line, verify=True)
    failed = refused or outcome.failures or outcome.unreadable
    return [CodeAction("Convert this file to v1beta1", outcome.text)] if not failed and outcome.text != text else []


def _at(name: str, text: str, line: int, column: int) -> tuple[Manifest, Path] | None:
    """The object at a position, and the path there: of the last document, and its last object, that begin before it."""
    if not is_ours(text):
        return None
    documents = [
        document
        for document in read_text(Source(name, text))
        if isinstance(document, Document) and document.path_at(line, column) is not None
    ]
    places = [
        (manifest, path) for manifest in find_manifests(documents[-1:]) if (path := manifest.document.path_at(line, column)) is not None
    ]
    return places[-1] if places else None


def list_objects(name: str, text: str) -> list[Manifest]:
    """The Dynamo objects of a text, in order; none of a text that is too long."""
    if not is_ours(text):
        return []
    return list(find_manifests(document for document in read_text(Source(name, text)) if isinstance(document, Document)))


def _paths(data: object, key: str | None, path: Path = ()) -> Iterator[Path]:
    """The position of the cursor's mark: for a key its parent's path, for a value its own."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name == _HERE and not key:
                yield path
            elif value == _HERE and key:
                yield (*path, name)
            else:
                yield from _paths(value, key, (*path, name))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _paths(value, key, (*path, index))


def _fields(node: Node, beside: Any) -> list[Completion]:
    """Completions for fields that an object may get; `beside` is that object."""
    there = beside if isinstance(beside, dict) else {}
    known: dict[str, Node] = node.get("properties") or {}
    free = (name for name in sorted(known) if name not in there)
    return [
        Completion(name, str(known[name].get("type", "")), str(known[name].get("description", "")), "Field", f"{name}: ") for name in free
    ]


def _values(node: Node) -> list[Completion]:
    values = node.get("enum") or ([True, False] if node.get("type") == "boolean" else [])
    texts = (str(value).lower() if isinstance(value, bool) else str(value) for value in values)
    return [Completion(text, str(node.get("type", "")), str(node.get("description", "")), "EnumMember", text) for text in texts]


def find_named_rule(name: str, text: str, line: int, column: int) -> str:
    """The page of the rule whose name or code in a comment is at a position, as Markdown; empty where there is none."""
    source = Source(name, text)
    if not source.holds(MARK):
        return ""
    for comment in comments(source, MARK):
        match = re.search(IGNORE, comment.text) if comment.line == line else None
        for word in re.finditer(r"[^\s,]+", match["rules"]) if match else ():
            start = comment.column + match.start("rules") + word.start() if match else 0
            page = rule.find(word[0]) if start <= column <= start + len(word[0]) else None
            if page is not None:
                return rule.markdown(page, examples=True)
    return ""


def add_ignore_comment(name: str, text: str, rule_name: str, line: int) -> CodeAction | None:
    """The edit that ignores a rule on a line, by a comment whose reason the author must write. None where no comment is possible."""
    source = Source(name, text)
    if text.lstrip()[:1] in ("{", "[") or not 0 < line <= len(source.lines) or rule.find(rule_name) is None:
        return None
    changed = write_comment(source, line, rule_name)
    return None if changed is None else CodeAction(f"Ignore {rule_name} here, with a reason", changed)


class DocumentSymbol(NamedTuple):
    """One object or component: where it is written, and where its name is."""

    name: str
    detail: str
    extent: Extent
    position: Position
    parts: list[DocumentSymbol]


def find_symbols(name: str, text: str) -> list[DocumentSymbol]:
    """The objects of a text, in order; files of others have none."""
    return [
        _symbol(manifest, (), manifest.identity.name or manifest.identity.kind, manifest.identity.kind, list(_parts(manifest)))
        for manifest in list_objects(name, text)
    ]


def _parts(manifest: Manifest) -> Iterator[DocumentSymbol]:
    spec = manifest.data.get("spec")
    for group, type_field in (("services", "componentType"), ("components", "type")):
        listed = spec.get(group) if isinstance(spec, dict) else None
        entries: Iterable[tuple[str | int, Any]] = enumerate(listed) if isinstance(listed, list) else ()
        for step, value in listed.items() if isinstance(listed, dict) else entries:
            about = value if isinstance(value, dict) else {}
            named = step if isinstance(step, str) else about.get("name")
            yield _symbol(manifest, ("spec", group, step), str(named or step), str(about.get(type_field) or ""), [])


def _symbol(manifest: Manifest, path: Path, name: str, detail: str, parts: list[DocumentSymbol]) -> DocumentSymbol:
    named = manifest.document.value_position((*path, "name") if path else ("metadata", "name"))
    return DocumentSymbol(name, detail, manifest.document.extent(path), named, parts)
