"""The command `default`: what the mutating webhooks would change."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, NamedTuple

from ....api.line import Line
from ....api.paths import format_path
from ....api.wording import count_of, escape_unprintable, shorten
from ....policies.rule import Level
from ...console import flags
from ...console.escaping import encode_json
from ...console.exits import BUG, NO_OBJECT, NOT_EVALUATED, NOTHING_FOUND, OK, REFUSED, UNREADABLE, refuse, worst_code
from ...console.options import option, repeatable, switch
from ...console.output import write_document, write_stderr, write_stdout
from ...facts.load import find_flag
from ...files.budget import limit_cpu
from ...files.read import load_text
from ...files.write import write_if_unchanged
from ...objects.forms import SimulatedServer
from ...objects.stored import load_stored
from ...project.apply import apply_project, find_input_files
from ...project.facts import read_project_facts
from ...project.options import ProjectOptions
from ...rewrite.emit import emit_json, emit_yaml
from ...rewrite.rewrite import NotWrittenError
from ...rewrite.unified_diff import format_diff
from ...yaml.load import InputError, Source
from .run import DefaultedObject, DefaultedText, DefaultsRequest, NamedEdit, default_text

FORMAT: Final = 1
_MAX_VALUE_CHARACTERS: Final = 200  # in a line
HELP = "show or write the defaults of the mutating webhooks"


class Options(NamedTuple):
    """Flags and options."""

    paths: flags.Paths = ()
    exclude: flags.Exclude = ()
    check: Annotated[bool, switch("exit code 1 if something would change")] = False
    write: Annotated[bool, switch("change the files, except other documents and comments")] = False
    output: Annotated[
        str,
        flags.output(
            *("text", "json", "diff", "patch", "yaml"),
            text="one line per change; JSON; a unified diff of the files; the server's JSON patch (RFC 6902), one line per "
            "object; the defaulted objects (default text)",
        ),
    ] = "text"
    op: Annotated[str, option("auto: an update if --old has the object", choices=("auto", "create", "update"))] = "auto"
    old: Annotated[tuple[str, ...], repeatable("stored objects of an update; repeatable", "PATH")] = ()
    facts: flags.FactFlags = flags.FactFlags()
    require_facts: Annotated[bool, switch("exit code 5 if a default could not be evaluated")] = False
    allow_empty: flags.AllowNone = False
    quiet: Annotated[bool, switch("no summary, and nothing about defaults that were not evaluated", "-q")] = False
    project: ProjectOptions = ProjectOptions()


def run(options: Options) -> int:
    """Prints or writes the edits; 0, 1 when something would change under --check or could not be asked, 3, 4, 5, 70.

    Raises: UsageError for flags that don't go together, facts or old objects that can't be used.
    """
    options = apply_project(options, ("paths", "exclude", "line", "facts"), options.paths)
    flags.need_paths(options.paths, "; or paths in .dynamo-webhooks.yaml")
    refuse(
        (options.check and options.write, "--check writes nothing, --write writes: use one of them"),
        (options.write and options.output != "text", "-o is for printed output; --write keeps the format of each file"),
        (options.write and "-" in options.paths, "--write can't change standard input"),
        (options.op == "update" and not options.old, "--op update needs --old with the stored objects"),
    )
    old = load_stored(options.old) if options.old and options.op != "create" else None
    facts = read_project_facts(options.facts, options.project)
    request = DefaultsRequest(SimulatedServer(facts), options.op, old)
    files = find_input_files(options.project, options.paths, options.exclude, () if options.allow_empty else options.paths)
    outcomes = [_read(file, request) for file in files]
    code = _code(options, outcomes)
    if options.output == "json":
        write_stdout(emit_json(_document(outcomes, code)))
    elif options.output != "diff":
        write_stdout(_format(outcomes, options.output))
    _say(options, outcomes, facts.line)
    if options.output == "diff" or options.write:
        code = worst_code([code, *(_change(outcome, write=options.write) for outcome in outcomes if outcome.changes)])
    return code


def _read(file: str | InputError, request: DefaultsRequest) -> DefaultedText:
    try:
        if isinstance(file, InputError):
            raise file
        with limit_cpu(file):
            return default_text(file, load_text(file), request)
    except InputError as error:
        return DefaultedText(Source(error.name, ""), [], [error])


def _code(options: Options, outcomes: Sequence[DefaultedText]) -> int:
    objects = list(_objects(outcomes))
    codes = [BUG] * any(finding.level is Level.FAULT for obj in objects for finding in obj.idle)
    codes += [UNREADABLE] * any(outcome.unreadable for outcome in outcomes)
    codes += [REFUSED] * any(obj.failure or (options.check and obj.edits) for obj in objects)
    codes += [NOT_EVALUATED] * (options.require_facts and any(obj.idle for obj in objects))
    codes += [NOTHING_FOUND] * (not objects and not options.allow_empty)
    return worst_code(codes)


def _say(options: Options, outcomes: Sequence[DefaultedText], line: Line) -> None:
    """Reports what could not be read or asked, and a summary."""
    for outcome in outcomes:
        for error in outcome.unreadable:
            write_stderr(str(error))
        for obj in outcome.objects:
            for sentence in obj.unknown:
                write_stderr(sentence)
            if obj.failure:
                write_stderr(f"{outcome.source.name}:{obj.manifest.document.position(()).line}: {obj.manifest.identity}: {obj.failure}")
    if options.quiet:
        return
    for sentence in _idle(outcomes, line):
        write_stderr(sentence)
    if not any(outcome.objects for outcome in outcomes) and not options.allow_empty:
        if not any(outcome.unreadable for outcome in outcomes):
            write_stderr(NO_OBJECT)
    elif options.output == "text":
        write_stderr(_summary(outcomes, line))


def _idle(outcomes: Sequence[DefaultedText], line: Line) -> Iterator[str]:
    """A sentence for each default that could not be asked: why, for how many objects, and what helps."""
    counts = Counter((finding.rule.name, finding.fact, finding.text) for obj in _objects(outcomes) for finding in obj.idle)
    for (rule, fact, text), count in sorted(counts.items()):
        reason = f"the fact {fact} is not known; {find_flag(fact, line)} would supply it" if fact else text
        yield f"{rule} is not evaluated for {count_of(count, 'object')}: {reason}"


def _change(outcome: DefaultedText, *, write: bool) -> int:
    """Writes a file as the defaults make it, or prints the difference; says what keeps a file as it is, and returns its exit code."""
    name = outcome.source.name
    if outcome.failed:
        write_stderr(f"{name}: left unchanged, because part of it can't be read or checked")
        return OK  # the exit code for it is set already
    try:
        new = outcome.new_text()
    except NotWrittenError as error:
        write_stderr(f"{name}: left as it is: {error}")
        return REFUSED
    if write and (code := write_if_unchanged(name, new.text, outcome.source.text)):
        return code
    for line in new.lost_lines:
        write_stderr(f"{name}:{line}: the comment is lost")
    if write:
        write_stderr(f"{name}: written")
    else:
        write_document(format_diff(name, outcome.source.text, new.text))
    return OK


def _format(outcomes: Sequence[DefaultedText], form: str) -> str:
    if form == "patch":  # an empty list where nothing changes
        return "".join(encode_json(obj.patch) + "\n" for obj in _objects(outcomes) if not obj.failure)
    if form == "yaml":
        return "---\n".join(emit_yaml(obj.object) for obj in _objects(outcomes))
    return "".join(f"{_line(obj, edit)}\n" for obj in _objects(outcomes) for edit in obj.edits)


def _document(outcomes: Sequence[DefaultedText], code: int) -> dict[str, Any]:
    """Everything as data; fields are only ever added."""
    return {
        "format": FORMAT,
        "objects": [_object(obj) for obj in _objects(outcomes)],
        "unreadable": [error.as_data() for outcome in outcomes for error in outcome.unreadable],
        "exit": code,
    }


def _summary(outcomes: Sequence[DefaultedText], line: Line) -> str:
    """One line with the counts."""
    every = list(_objects(outcomes))
    changed = [obj for obj in every if obj.edits]
    edits, failed = sum(len(obj.edits) for obj in changed), sum(bool(obj.failure) for obj in every)
    parts = [f"{edits} edit{'s' * (edits != 1)} in {len(changed)}"] * bool(edits)
    parts += [f"{failed} could not be checked"] * bool(failed)
    return f"{count_of(len(every), 'object')} for operator {line}: {', '.join(parts) or 'nothing to fill in'}"


def _objects(outcomes: Sequence[DefaultedText]) -> Iterator[DefaultedObject]:
    return (obj for outcome in outcomes for obj in outcome.objects)


def _line(obj: DefaultedObject, edit: NamedEdit) -> str:
    line, column, _ = obj.manifest.document.position(edit.path)
    name, field = obj.manifest.document.source.name, shorten(format_path(edit.path), 2_000)
    becomes = (
        f"set to {_format_value(edit.after)}"
        if edit.before is None
        else f"{_format_value(edit.before)} becomes {_format_value(edit.after)}"
    )
    return escape_unprintable(f"{name}:{line}:{column} {edit.rule} ({edit.code}): {obj.manifest.identity}: {field}: {becomes}")


def _format_value(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str), _MAX_VALUE_CHARACTERS)


def _object(obj: DefaultedObject) -> dict[str, Any]:
    return {
        "file": obj.manifest.document.source.name,
        "line": obj.manifest.document.position(()).line,
        "object": obj.manifest.identity._asdict(),
        "version": obj.manifest.version,
        "edits": [_edit(obj, edit) for edit in obj.edits],
        "patch": obj.patch,
        "notEvaluated": [{"rule": finding.rule.name, "code": finding.rule.code, "fact": finding.fact} for finding in obj.idle],
        "failure": obj.failure,
    }


def _edit(obj: DefaultedObject, edit: NamedEdit) -> dict[str, Any]:
    line, column, _ = obj.manifest.document.position(edit.path)
    return {
        "rule": edit.rule,
        "code": edit.code,
        "path": format_path(edit.path),
        "before": edit.before,
        "after": edit.after,
        "line": line,
        "column": column,
    }
