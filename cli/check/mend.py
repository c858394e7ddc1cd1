"""`check --fix`: writes the edits that findings carry into their files, or shows them as a diff. What else a file holds stays."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.cli.check.edits import RENAME, edited
from dynamo_webhooks.cli.check.objects import objects
from dynamo_webhooks.cli.default.texts import with_objects
from dynamo_webhooks.cli.exits import OK, REFUSED, UsageError, worst
from dynamo_webhooks.cli.output import say
from dynamo_webhooks.cli.rewrite.rewritten import NotWrittenError
from dynamo_webhooks.cli.yaml.errors import InputError
from dynamo_webhooks.cli.yaml.load import Document, Source, read

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from dynamo_webhooks.cli.check.edits import Edit
    from dynamo_webhooks.cli.check.record import Reported


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
    return with_objects(named.name, named.text, wanted).text if any(rest.values()) else named.text


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
