"""The command `render`: the children that the reconciler would apply."""

import argparse
from collections.abc import Callable

from ....api.wording import shorten
from ...console import flags
from ...console.exits import NO_OBJECT, NOTHING_FOUND, OK, REFUSED, UNREADABLE, UsageError, worst_code
from ...console.nearest import did_you_mean
from ...console.output import write_stderr, write_stdout
from ...files.find import find_files
from ...rewrite.emit import emit_json, emit_yaml
from .pods import find_restarts, report
from .run import Asked, Child, Outcome, ask_by_target, into_folder, lay_project, render_file, render_revision

HELP = "print the child resources that the reconciler would apply"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    flags.paths(parser)
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="YAML documents, or one JSON list (default yaml)")
    parser.add_argument("-d", "--directory", metavar="DIR", help="write a file for each child instead of printing")
    parser.add_argument("--only", action="append", default=[], metavar="KIND", help="children of one kind, such as Deployment; repeatable")
    parser.add_argument("--against", metavar="GIT-REF", help="print which pods would restart since this Git revision, and why")
    parser.add_argument("-n", "--namespace", default="", help="namespace of objects without one (default: default)")
    flags.facts(parser)
    parser.add_argument("--config", metavar="FILE", help="OperatorConfiguration; facts override it")
    flags.lenient(parser)
    parser.add_argument("--allow-empty", action="store_true", help="accept no Dynamo object")
    parser.add_argument("-q", "--quiet", action="store_true", help="don't report assumptions about the cluster")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Renders and prints, writes or compares; 0, 1 when something can't be rendered (the rest is printed), 3, 4.

    Raises: UsageError for wrong flags, facts, configuration or revision.
    """
    if not arguments.paths:
        raise UsageError("name at least one file, folder or glob, or - for standard input")
    if arguments.against is not None and arguments.directory is not None:
        raise UsageError("--against prints what restarts, -d writes children: use one of them")
    lay_project(arguments)
    ask = ask_by_target(arguments, (lambda _: None) if arguments.quiet else write_stderr, lenient=arguments.lenient_config)
    files = find_files(arguments.paths, arguments.exclude)
    done = [render_file(file, ask) for file in files]
    for line in (line for one in done for line in (*one.told, *one.notes)):
        write_stderr(line)
    codes = [_code(one) for one in done]
    if not any(one.made for one in done) and not arguments.allow_empty and UNREADABLE not in codes:
        write_stderr(NO_OBJECT)
        codes.append(NOTHING_FOUND)
    every = [child for one in done for child in one.children]
    children = _chosen(every, arguments.only)
    for line in _missed(every, arguments.only):
        write_stderr(line)
    if arguments.against is None and arguments.directory is None:
        fields = [one.fields for one in children]
        write_stdout(emit_json(fields) if arguments.output == "json" else "".join(f"---\n{emit_yaml(one)}" for one in fields))
    elif arguments.against is None:
        for path in into_folder(children, arguments.directory, arguments.output):
            write_stderr(path)
    else:
        named = [file for file in files if isinstance(file, str)]
        _compare(children, named, ask, arguments, whole=not any(map(_code, done)))
    return worst_code(codes)


def _code(outcome: Outcome) -> int:
    return worst_code([OK, *[UNREADABLE] * bool(outcome.unreadable), *[REFUSED] * bool(outcome.problems)])


def _compare(children: list[Child], files: list[str], ask: Callable[[str], Asked], arguments: argparse.Namespace, *, whole: bool) -> None:
    """Prints which pods restart on the way from a revision to the files as they are."""
    before: list[Child] = []
    for outcome, begin in render_revision(arguments, files, ask):
        before += outcome.children
        for line in outcome.told:
            write_stderr(f"{begin}{line}")
            whole = False
    found = find_restarts(_chosen(before, arguments.only), children)
    write_stdout(emit_json([one._asdict() for one in found]) if arguments.output == "json" else report(found, whole=whole))


def _chosen(children: list[Child], kinds: list[str]) -> list[Child]:
    wanted = {kind.lower() for kind in kinds}
    return [one for one in children if not wanted or one.fields["kind"].lower() in wanted]


def _missed(children: list[Child], kinds: list[str]) -> list[str]:
    """A sentence for each kind that was asked for and isn't among the children, where there are any."""
    made = {str(one.fields["kind"]).lower(): str(one.fields["kind"]) for one in children}
    missed = [kind for kind in dict.fromkeys(kinds) if children and kind.lower() not in made]
    return [f"--only {shorten(kind, 80)}: no child of this kind is made{did_you_mean(kind, sorted(made.values()))}" for kind in missed]
