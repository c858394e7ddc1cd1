"""The command `convert`: versions of objects in files."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple

from ....api.line import DEFAULT_LINE, Line
from ....api.wording import count_of, shorten
from ....conversion.kinds import KINDS, format_field_map
from ...console import flags
from ...console.exits import NO_OBJECT, NOTHING_FOUND, OK, REFUSED, UNREADABLE, UsageError, refuse, worst_code
from ...console.kind_names import find_kind
from ...console.nearest import did_you_mean
from ...console.options import option, switch
from ...console.output import write_document, write_stderr, write_stdout
from ...files.budget import limit_cpu
from ...files.read import STDIN, load_text
from ...files.write import write_if_unchanged
from ...legacy.recognise import recognise
from ...project.apply import apply_project, find_input_files
from ...project.options import ProjectOptions
from ...rewrite.emit import emit_json, emit_yaml
from ...yaml.errors import InputError
from ...yaml.load import Document, Source, read_text
from .run import ConvertedText, convert_accepted

HELP = "convert objects in files to another version; other documents stay byte for byte"


class Options(NamedTuple):
    """Flags and options."""

    paths: flags.Paths = ()
    to: Annotated[str | None, option("version to convert to", choices=("v1alpha1", "v1beta1"))] = None
    line: Annotated[
        Line | None, flags.release(f"operator release that will store the objects (default: the project file's, else {DEFAULT_LINE})")
    ] = None
    exclude: flags.Exclude = ()
    check: Annotated[bool, switch("write nothing; exit code 1 if a file would change")] = False
    write: Annotated[bool, switch("change the files instead of printing")] = False
    verify: Annotated[bool, switch("also convert back, and refuse what does not round-trip unchanged")] = False
    fields: Annotated[str | None, option("print the corresponding fields of a kind's versions", "KIND")] = None
    output: Annotated[str | None, flags.output("yaml", "json", text="one format for all documents (default: each keeps its own)")] = None
    allow_empty: flags.AllowEmpty = False
    quiet: Annotated[bool, switch("report neither saved values nor lost comments, and no summary", "-q")] = False
    project: ProjectOptions = ProjectOptions()


def run(options: Options) -> int:
    """Converts and prints or writes; 0, 1 when something can't be converted or would change under --check, 3, 4.

    Raises: UsageError for flags that don't go together.
    """
    if options.fields and options.paths:
        raise UsageError(f"--fields prints a table and reads no files: leave out {shorten(options.paths[0], 80)}")
    if options.fields:
        return _fields(options.fields)
    options = apply_project(options, ("paths", "exclude", "line"), options.paths)
    if not options.to:
        raise UsageError("--to must name the version to convert to, v1beta1 or v1alpha1")
    flags.need_paths(options.paths, "; or paths in .dynamo-webhooks.yaml")
    refuse(
        (options.check and options.write, "--check writes nothing, --write writes: use one of them"),
        (options.output and (options.check or options.write), "-o is for printed output; --check and --write keep the format of each file"),
        (options.write and "-" in options.paths, "--write can't change standard input"),
    )
    return _convert(options, options.to)


def _convert(options: Options, to: str) -> int:
    codes, done, changed, some, line = [OK], [], 0, False, options.line or DEFAULT_LINE
    files = find_input_files(options.project, options.paths, options.exclude, () if options.allow_empty else options.paths)
    builds = cache(lambda: _builds(files))
    how = {"verify": options.verify, "builds": builds, "lenient": options.allow_empty}
    for file in files:
        try:
            if isinstance(file, InputError):
                raise file
            text = load_text(file)
            with limit_cpu(file):
                outcome, refused = convert_accepted(file, text, to, line=line, **how)
        except InputError as error:
            write_stderr(str(error))
            codes.append(UNREADABLE)
            continue
        some = some or bool(outcome.objects)
        codes += [REFUSED] * bool(outcome.failures or refused) + [UNREADABLE] * bool(outcome.unreadable)
        notes = () if options.quiet else outcome.notes
        for sentence in (*map(str, outcome.unreadable), *outcome.failures, *outcome.legacy, *notes, *refused):
            write_stderr(sentence)
        if options.check and outcome.converted:
            write_stderr(f"{file}: {outcome.converted} of {outcome.objects} objects would change")
            codes.append(REFUSED)
        if options.write and outcome.converted and not outcome.failures and not outcome.unreadable:
            codes.append(write_if_unchanged(file, outcome.text, text))
            changed += outcome.converted if codes[-1] == OK else 0
        elif not options.write:
            changed += outcome.converted
        done.append(outcome)
    if not some and not options.allow_empty and UNREADABLE not in codes:
        write_stderr(NO_OBJECT)
        codes.append(NOTHING_FOUND)
    if some and not options.quiet:
        objects = count_of(sum(outcome.objects for outcome in done), "object")
        result = f"{changed or 'none'} {'would change' if options.check else f'converted to {to}'}"
        if not changed and worst_code(codes) == OK:
            result = f"nothing to do, no object needs conversion to {to}"
        write_stderr(f"{objects} for operator {line}: {result}")
    if not options.check and not options.write:
        _print(done, options.output)
    return worst_code(codes)


def _print(outcomes: Sequence[ConvertedText], form: str | None) -> None:
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
    builds: list[Any] = []
    for file in files:
        try:
            text = load_text(file) if isinstance(file, str) and file != STDIN else ""
        except InputError:
            continue
        if any(name in text for name in ("DynamoComponent", "DynamoNim")):
            documents = (document.data for document in read_text(Source(str(file), text)) if isinstance(document, Document))
            builds += [data for data in documents if recognise(data) is not None]
    return builds
