"""The command `convert`: versions of objects in files."""

import argparse
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from ....api.line import NEWEST
from ....api.wording import count_of, shorten
from ....conversion.kinds import KINDS, format_field_map
from ...console import flags
from ...console.exits import NO_OBJECT, NOTHING_FOUND, OK, REFUSED, UNREADABLE, UsageError, worst_code
from ...console.kind_names import find_kind
from ...console.nearest import did_you_mean
from ...console.output import write_document, write_stderr, write_stdout
from ...files.budget import limit_cpu
from ...files.read import STDIN, load_text
from ...files.write import write_if_unchanged
from ...legacy.recognise import recognise
from ...project.apply import Targets, apply_project, input_files
from ...rewrite.emit import emit_json, emit_yaml
from ...yaml.errors import InputError
from ...yaml.load import Document, Source, read_text
from .run import Outcome, convert_accepted

HELP = "convert objects in files to another version; other documents stay byte for byte"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, folders, globs, or - for standard input")
    parser.add_argument("--to", choices=("v1alpha1", "v1beta1"), help="version to convert to")
    flags.line(parser, f"operator release that will store the objects (default: the project file's, else {NEWEST})")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="files to leave out; repeatable")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a file would change")
    parser.add_argument("--write", action="store_true", help="change the files instead of printing")
    parser.add_argument("--verify", action="store_true", help="also convert back, and refuse what does not round-trip unchanged")
    parser.add_argument("--fields", metavar="KIND", help="print the corresponding fields of a kind's versions")
    parser.add_argument("-o", "--output", choices=("yaml", "json"), help="one format for all documents (default: each keeps its own)")
    parser.add_argument("--allow-empty", action="store_true", help=flags.ALLOW_EMPTY)
    parser.add_argument("-q", "--quiet", action="store_true", help="report neither saved values nor lost comments, and no summary")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Converts and prints or writes; 0, 1 when something can't be converted or would change under --check, 3, 4.

    Raises: UsageError for flags that don't go together.
    """
    if arguments.fields and arguments.paths:
        raise UsageError(f"--fields prints a table and reads no files: leave out {shorten(arguments.paths[0], 80)}")
    if arguments.fields:
        return _fields(arguments.fields)
    apply_project(arguments, ("paths", "exclude", "line", "clusters"), arguments.paths)
    if not arguments.to:
        raise UsageError("--to must name the version to convert to, v1beta1 or v1alpha1")
    if not arguments.paths:
        raise UsageError("name at least one file, folder or glob, or - for standard input; or paths in .dynamo-webhooks.yaml")
    if arguments.check and arguments.write:
        raise UsageError("--check writes nothing, --write writes: use one of them")
    if arguments.output and (arguments.check or arguments.write):
        raise UsageError("-o is for printed output; --check and --write keep the format of each file")
    if arguments.write and "-" in arguments.paths:
        raise UsageError("--write can't change standard input")
    return _convert(arguments)


def _convert(arguments: argparse.Namespace) -> int:
    codes, done, changed, releases = [OK], [], 0, set()
    targets = Targets(arguments)
    files = input_files(arguments, arguments.paths)
    builds = cache(lambda: _builds(files))
    how = {"verify": arguments.verify, "builds": builds, "lenient": arguments.allow_empty}
    for file in files:
        try:
            if isinstance(file, InputError):
                raise file
            text, line = load_text(file), targets.line_of(file) or NEWEST
            with limit_cpu(file):
                outcome, refused = convert_accepted(file, text, arguments.to, line=line, **how)
        except InputError as error:
            write_stderr(str(error))
            codes.append(UNREADABLE)
            continue
        releases |= {line} if outcome.objects else set()
        codes += [REFUSED] * bool(outcome.failures or refused) + [UNREADABLE] * bool(outcome.unreadable)
        notes = () if arguments.quiet else outcome.notes
        for told in (*map(str, outcome.unreadable), *outcome.failures, *outcome.legacy, *notes, *refused):
            write_stderr(told)
        if arguments.check and outcome.converted:
            write_stderr(f"{file}: {outcome.converted} of {outcome.objects} objects would change")
            codes.append(REFUSED)
        if arguments.write and outcome.converted and not outcome.failures and not outcome.unreadable:
            codes.append(write_if_unchanged(file, outcome.text, text))
            changed += outcome.converted if codes[-1] == OK else 0
        elif not arguments.write:
            changed += outcome.converted
        done.append(outcome)
    if not releases and not arguments.allow_empty and UNREADABLE not in codes:
        write_stderr(NO_OBJECT)
        codes.append(NOTHING_FOUND)
    if releases and not arguments.quiet:
        objects = count_of(sum(outcome.objects for outcome in done), "object")
        result = f"{changed or 'none'} {'would change' if arguments.check else f'converted to {arguments.to}'}"
        if not changed and worst_code(codes) == OK:
            result = f"nothing to do, no object needs conversion to {arguments.to}"
        write_stderr(f"{objects} for operator {' and '.join(sorted(releases))}: {result}")
    if not arguments.check and not arguments.write:
        _print(done, arguments.output)
    return worst_code(codes)


def _print(outcomes: Sequence[Outcome], form: str | None) -> None:
    """All files on stdout, one after the other, with a marker between YAML texts that lack one."""
    if form == "json":
        values = [value for outcome in outcomes for value in outcome.values]
        write_stdout(emit_json(values[0] if len(values) == 1 else {"apiVersion": "v1", "kind": "List", "items": values}))
    elif form == "yaml":
        write_stdout("---\n".join(emit_yaml(value) for outcome in outcomes for value in outcome.values))
    else:
        texts, parts = [outcome.text for outcome in outcomes], []
        for before, text in zip(["", *texts], texts, strict=False):
            marked = not before or text.startswith("---")
            parts.append(("" if not before or before.endswith("\n") else "\n") + ("" if marked else "---\n") + text)
        write_document("".join(parts))


def _fields(word: str) -> int:
    kind = find_kind(word)
    if kind is None:
        raise UsageError(f"--fields {word}: no such kind{did_you_mean(word, list(KINDS))}")
    if kind not in KINDS:
        raise UsageError(f"--fields {word}: {kind} has one version")
    write_stdout(format_field_map(kind))
    return OK


def _builds(files: Iterable[str | InputError]) -> list[Any]:
    """Documents of all files that may be builds of the first releases, which know the images that deployments refer to by name.

    Unreadable files are reported elsewhere; standard input can't be read twice.
    """
    found: list[Any] = []
    for file in files:
        try:
            text = load_text(file) if isinstance(file, str) and file != STDIN else ""
        except InputError:
            continue
        if any(name in text for name in ("DynamoComponent", "DynamoNim")):
            documents = (one.data for one in read_text(Source(str(file), text)) if isinstance(one, Document))
            found += [data for data in documents if recognise(data) is not None]
    return found
