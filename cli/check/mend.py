"""`check --fix`: writes the edits that findings carry into their files, or shows them as a diff. What else a file holds stays."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.cli.check.edits import RENAME, SET, edited
from dynamo_webhooks.cli.check.objects import objects
from dynamo_webhooks.cli.default.texts import swapped, with_objects
from dynamo_webhooks.cli.exits import OK, REFUSED, UsageError, worst
from dynamo_webhooks.cli.output import say
from dynamo_webhooks.cli.rewrite.fresh import double_quoted, flow_scalar
from dynamo_webhooks.cli.rewrite.rewritten import NotWrittenError
from dynamo_webhooks.cli.rewrite.tree import same
from dynamo_webhooks.cli.yaml.errors import InputError
from dynamo_webhooks.cli.yaml.load import Document, Source, read

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from dynamo_webhooks.cli.check.edits import Edit
    from dynamo_webhooks.cli.check.record import Reported

_ANCHORED: Final = re.compile(r"(&\S+\s+)?(.*)", re.DOTALL)
_FIELDS: Final = ("apiVersion", "kind", "metadata", "spec", "status", "items")


class Mended(NamedTuple):
    """One file with its edits in it."""

    source: Source
    text: str
    edits: int


def refuse(arguments: argparse.Namespace) -> None:
    """Raises: UsageError where what is checked is no file of its own, so that nothing could be written."""
    if arguments.diff and not arguments.fix:
        raise UsageError("--diff shows what --fix would write: give both")
    for flag, given in (("--cluster", arguments.cluster), ("-k", arguments.kustomize), ("--helm", arguments.helm)):
        if arguments.fix and given:
            raise UsageError(f"--fix changes files, and {flag} checks what is none; fix the sources")
    if arguments.fix and (arguments.set or arguments.env_file):
        raise UsageError("--fix would write the values of --set and --env-file into the files; leave them out")
    asked = arguments.output and "outputs" not in arguments.laid
    for flag, given in (("-o", asked), ("--answer", arguments.answer), ("--update-baseline", arguments.update_baseline)):
        if arguments.diff and given:
            raise UsageError(f"--diff prints what --fix would write, and no report: leave out {flag}")
    if arguments.fix and "-" in arguments.paths:
        raise UsageError("--fix changes files, and - is none")


def mended(findings: Iterable[Reported]) -> tuple[list[Mended], int]:
    """The files that edits change, in order, and the exit code: a file that can't be changed is said, and stays as it is."""
    by_file: dict[str, tuple[Source, dict[int, list[Edit]]]] = {}
    for finding in findings:
        if finding.edit is not None:
            _, edits = by_file.setdefault(finding.source.name, (finding.source, {}))
            edits.setdefault(finding.edit.number, []).append(finding.edit)
    done, code = [], OK
    for name in sorted(by_file):
        source, edits = by_file[name]
        try:
            text = with_edits(source, edits)
        except NotWrittenError as error:
            say(f"{name} is left as it is: {error}")
            code = REFUSED
            continue
        if text != source.text:
            done.append(Mended(source, text, sum(len(_certain(some)) for some in edits.values())))
    return done, code


def write(done: list[Mended]) -> int:
    """Writes all files that have not changed meanwhile; returns the exit code."""
    from dynamo_webhooks.cli.rewrite.files import put

    codes = [OK]
    for one in done:
        codes.append(put(one.source.name, one.text, one.source.text))
        if codes[-1] == OK:
            say(f"{one.source.name}: {one.edits} fixed")
    return worst(codes)


def diff(done: list[Mended]) -> str:
    """What would be written, as one diff that `git apply` takes."""
    from dynamo_webhooks.cli.default.reports import diff as of_file

    return "".join(of_file(one.source.name, one.source.text, one.text) for one in done)


def with_edits(source: Source, edits: dict[int, list[Edit]]) -> str:
    """The text with the edits of each object, by number, in it: names first, which are written over the old ones where these stand.

    Raises: NotWrittenError where a part of it can't be read or written.
    """
    documents = _objects(source)
    edits = {number: _certain(some) for number, some in edits.items()}
    # an alias or merge key has the names of one map in several places of an object
    renames = {documents[number].position(edit.path): edit for number, some in edits.items() for edit in some if edit.what == RENAME}
    text = source.text
    for (line, column, end), edit in sorted(renames.items(), reverse=True):  # from the end, so that places before stay
        first, last = (source.starts[line - 1] + place - 1 for place in (column, end))
        old, quote = str(edit.path[-1]), text[first] if text[first : first + 1] in ('"', "'") else ""
        if text[first:last] != f"{quote}{old}{quote}":
            raise NotWrittenError(f"the name {old[:80]!r} is not written as it reads")
        text = f"{text[:first]}{quote}{edit.value}{quote}{text[last:]}"
    named = source if text == source.text else Source(source.name, text)
    documents = documents if named is source else _objects(named)
    rest = {number: [edit for edit in some if edit.what != RENAME] for number, some in edits.items()}
    wanted = [edited(one.data, rest[number]) if rest.get(number) else None for number, one in enumerate(documents)]
    if not any(rest.values()):
        return named.text
    if all(edit.what == SET and not isinstance(edit.value, (dict, list)) for some in rest.values() for edit in some):
        placed = _in_place(named, rest, wanted)
        if placed is not None:
            return placed
    return with_objects(named.name, named.text, wanted, expands=False).text


def _in_place(source: Source, edits: dict[int, list[Edit]], wanted: list[Any]) -> str | None:
    """The text with new values over the old ones, and over an anchor's where aliases share it; None where it then says anything else."""
    documents = [one for one in read(source) if isinstance(one, Document)]
    ours = [one.document for one in objects(documents)]
    json = source.text.lstrip()[:1] in ("{", "[")
    spots: dict[tuple[int, int], str] = {}
    for number, some in edits.items():
        for edit in some:
            line, column, end = ours[number].value_position(edit.path)
            first, last = (source.starts[line - 1] + place - 1 for place in (column, end))
            anchor, old = _ANCHORED.fullmatch(source.text[first:last]).groups("")  # type: ignore[union-attr]  # matches everything
            if not old.startswith("*"):  # an alias is what its anchor says
                word = json and isinstance(edit.value, str) and old[:1] not in ("'", '"')
                spots[first, last] = anchor + (double_quoted(edit.value) if word else flow_scalar(edit.value, old))
    parts, cursor = [], 0
    for (first, last), new in sorted(spots.items()):
        parts += [source.text[cursor:first], new]
        cursor = last
    text = "".join([*parts, source.text[cursor:]])
    swaps = {id(one.data): new for one, new in zip(ours, wanted, strict=True) if new is not None}
    told = [one.data if isinstance(one, Document) else None for one in read(Source(source.name, text))]
    return text if same([_kept(swapped(one.data, swaps)) for one in documents], [_kept(one) for one in told]) else None


def _kept(data: Any) -> Any:
    """What an API server looks at: anchors are often gathered below a field of no meaning."""
    return {name: value for name, value in data.items() if name in _FIELDS} if isinstance(data, dict) else data


def _certain(edits: list[Edit]) -> list[Edit]:
    """The edits, each once, without renames that would give two fields of a map one name: only a person knows which of them is meant."""
    once = list(dict.fromkeys(edits))
    same = Counter((edit.path[:-1], edit.value) for edit in once if edit.what == RENAME)
    return [edit for edit in once if edit.what != RENAME or same[edit.path[:-1], edit.value] == 1]


def _objects(source: Source) -> list[Document]:
    documents = list(read(source))
    if any(isinstance(one, InputError) for one in documents):
        raise NotWrittenError("a part of it can't be read")
    return [one.document for one in objects(one for one in documents if isinstance(one, Document))]
