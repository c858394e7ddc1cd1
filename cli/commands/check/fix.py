"""`check --fix` writes the edits that findings carry into their files, or shows them; what else a file holds stays byte for byte."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ...console.exits import OK, REFUSED, worst_code
from ...console.output import write_stderr
from ...files.write import write_if_unchanged
from ...objects.manifest import find_manifests
from ...objects.text_edits import replace_in_document, replace_objects
from ...rewrite.align import Origin
from ...rewrite.emit import emit_double_quoted, emit_flow_scalar
from ...rewrite.rewrite import NotWrittenError
from ...rewrite.tree import is_same_json
from ...validation.finding import LocatedFinding
from ...validation.fixes import MOVE, RENAME, SET, FieldEdit, apply_fixes
from ...yaml.comments import find_lines_inside_texts
from ...yaml.errors import InputError
from ...yaml.load import Document, Source, read_text
from .suppress import MARK

_ANCHORED: Final = re.compile(r"(&\S+\s+)?(.*)", re.DOTALL)
_FIELDS: Final = ("apiVersion", "kind", "metadata", "spec", "status", "items")


class FixedFile(NamedTuple):
    """One file with its edits in it."""

    source: Source
    text: str
    edits: int


def fix_files(findings: Iterable[LocatedFinding]) -> tuple[list[FixedFile], int]:
    """The files that edits change, in order, and the exit code: a file that can't be changed is reported, and kept."""
    by_file: dict[str, tuple[Source, dict[int, list[FieldEdit]]]] = {}
    for finding in findings:
        if finding.edit is not None:
            _, edits = by_file.setdefault(finding.source.name, (finding.source, {}))
            edits.setdefault(finding.edit.number, []).append(finding.edit)
    done, code = [], OK
    for name, (source, edits) in sorted(by_file.items()):
        try:
            text = apply_edits(source, edits)
        except NotWrittenError as error:
            write_stderr(f"{name} is left as it is: {error}")
            code = REFUSED
            continue
        if text != source.text:
            done.append(FixedFile(source, text, sum(len(_certain(some)) for some in edits.values())))
    return done, code


def write(done: list[FixedFile]) -> int:
    """Writes all files that have not changed meanwhile; returns the exit code."""
    codes = [OK]
    for mended in done:
        codes.append(write_if_unchanged(mended.source.name, mended.text, mended.source.text))
        if codes[-1] == OK:
            write_stderr(f"{mended.source.name}: {mended.edits} fixed")
    return worst_code(codes)


def apply_edits(source: Source, edits: dict[int, list[FieldEdit]]) -> str:
    """The text with the edits of each object, by number. Edits of names come first and replace old names in place.

    Raises: NotWrittenError if a part of it can't be read or written.
    """
    documents = _objects(source)
    edits = {number: _certain(some) for number, some in edits.items()}
    # an alias or merge key has the names of one map in several places of an object
    renames = {documents[number].position(edit.path): edit for number, some in edits.items() for edit in some if edit.action == RENAME}
    text = source.text
    for (line, column, end), edit in sorted(renames.items(), reverse=True):  # from the end, so that places before stay
        first, last = (source.starts[line - 1] + place - 1 for place in (column, end))
        old, quote = str(edit.path[-1]), text[first] if text[first : first + 1] in ('"', "'") else ""
        if text[first:last] != f"{quote}{old}{quote}":
            raise NotWrittenError(f"the name {old[:80]!r} is not written as it reads")
        text = f"{text[:first]}{quote}{edit.value}{quote}{text[last:]}"
    named = source if text == source.text else Source(source.name, text)
    documents = documents if named is source else _objects(named)
    rest = {number: [edit for edit in some if edit.action != RENAME] for number, some in edits.items()}
    wanted: list[Any] = [
        apply_fixes(document.data, rest[number]) if rest.get(number) else None for number, document in enumerate(documents)
    ]
    moves = {number: [edit for edit in some if edit.action == MOVE] for number, some in rest.items()}
    if any(moves.values()):
        from .version_change import move_fields

        origins: dict[int, Origin] = {}
        for number, some in moves.items():  # what can't be moved stays
            if some and (done := move_fields(wanted[number], some)) is not None:
                wanted[number], origins[number] = done
        return replace_objects(named.name, named.text, wanted, expands=False, origins=origins).text
    if not any(rest.values()):
        return named.text
    if all(edit.action == SET and not isinstance(edit.value, (dict, list)) for some in rest.values() for edit in some):
        placed = _replace_values(named, rest, wanted)
        if placed is not None:
            return placed
    return replace_objects(named.name, named.text, wanted, expands=False).text


def _replace_values(source: Source, edits: dict[int, list[FieldEdit]], wanted: list[Any]) -> str | None:
    """The text with new values over the old ones, and over an anchor's where aliases share it; None where it then says anything else."""
    documents = [document for document in read_text(source) if isinstance(document, Document)]
    ours = [manifest.document for manifest in find_manifests(documents)]
    json = source.text.lstrip()[:1] in ("{", "[")
    spots: dict[tuple[int, int], str] = {}
    for number, some in edits.items():
        for edit in some:
            line, column, end = ours[number].value_position(edit.path)
            first, last = (source.starts[line - 1] + place - 1 for place in (column, end))
            anchor, old = _ANCHORED.fullmatch(source.text[first:last]).groups("")  # type: ignore[union-attr]  # matches everything
            if not old.startswith("*"):  # an alias is what its anchor says
                word = json and isinstance(edit.value, str) and old[:1] not in ("'", '"')
                spots[first, last] = anchor + (emit_double_quoted(edit.value) if word else emit_flow_scalar(edit.value, old))
    text = _spliced(source.text, spots)
    swaps = {id(document.data): new for document, new in zip(ours, wanted, strict=True) if new is not None}
    after = [_meaningful_fields(content) for content in read_data(Source(source.name, text))]
    return text if is_same_json([_meaningful_fields(replace_in_document(document.data, swaps)) for document in documents], after) else None


def _meaningful_fields(data: Any) -> Any:
    """Selects the fields that an API server looks at: anchors are often gathered below a field of no meaning."""
    return {name: value for name, value in data.items() if name in _FIELDS} if isinstance(data, dict) else data


def _certain(edits: list[FieldEdit]) -> list[FieldEdit]:
    """The edits, each once, without renames that would give two fields of a map one name: only a person knows which of them is meant."""
    once = list(dict.fromkeys(edits))
    same = Counter((edit.path[:-1], edit.value) for edit in once if edit.action == RENAME)
    return [edit for edit in once if edit.action != RENAME or same[edit.path[:-1], edit.value] == 1]


def _objects(source: Source) -> list[Document]:
    documents = list(read_text(source))
    if any(isinstance(document, InputError) for document in documents):
        raise NotWrittenError("a part of it can't be read")
    return [manifest.document for manifest in find_manifests(document for document in documents if isinstance(document, Document))]


def write_comment(source: Source, line: int, rule: str) -> str | None:
    """The text with a comment above a line that names a rule, without its reason; None where no comment can be."""
    if find_lines_inside_texts(source, [line]):
        return None
    written, end = source.lines[line - 1], "\r\n" if "\r\n" in source.text else "\n"
    indent, at = written[: len(written) - len(written.lstrip())], source.starts[line - 1]
    text = _spliced(source.text, {(at, at): f"{indent}# {MARK} ignore[{rule}] {end}"})
    return text if read_data(source) == read_data(Source(source.name, text)) else None


def _spliced(text: str, edits: dict[tuple[int, int], str]) -> str:
    """The text with new words between places of it."""
    parts, cursor = [], 0
    for (first, last), new in sorted(edits.items()):
        parts += [text[cursor:first], new]
        cursor = last
    return "".join([*parts, text[cursor:]])


def read_data(source: Source) -> list[Any]:
    """The data of the documents of a text; None for what can't be read."""
    return [document.data if isinstance(document, Document) else None for document in read_text(source)]
