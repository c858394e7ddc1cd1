"""The command `render`: the children that the reconciler would apply. Flags, output and exit codes here; the work is in cli/render."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli import facts

if TYPE_CHECKING:
    import argparse

    from conversion.lens.protocol import Fields

HELP = "print the child resources that the reconciler would apply"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, folders, globs, or - for standard input")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="files to leave out; repeatable")
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="YAML documents, or one JSON list; default yaml")
    parser.add_argument("-d", "--directory", metavar="DIR", help="write a file for each child instead of printing")
    parser.add_argument("--only", action="append", default=[], metavar="KIND", help="children of one kind, such as Deployment; repeatable")
    parser.add_argument("-n", "--namespace", default="default", help="the namespace of objects that name none; default default")
    facts.configure(parser)
    parser.add_argument("--config", metavar="FILE", help="the operator's configuration (OperatorConfiguration); facts win over it")
    parser.add_argument("--allow-empty", action="store_true", help="no object of our kinds is fine")
    parser.add_argument("-q", "--quiet", action="store_true", help="don't say what is assumed of the cluster")
    parser.add_argument("-v", "--verbose", action="store_true", help="show tracebacks of bugs")


def run(arguments: argparse.Namespace) -> int:
    """Renders and prints or writes; 0, 1 when something can't be rendered (the rest is printed), 3, 4.

    Raises: UsageError for wrong flags and facts.
    """
    from cli.check.sources import find
    from cli.exits import NOTHING_FOUND, OK, REFUSED, UNREADABLE, UsageError, worst
    from cli.files import load_text
    from cli.output import say
    from cli.render.choose import choose
    from cli.render.run import Asked, render_text
    from cli.yaml.errors import InputError
    from policies.facts import UNKNOWN

    if not arguments.paths:
        raise UsageError("name at least one file, folder or glob, or - for standard input")
    known = facts.load_facts(arguments.facts, arguments.set_fact)
    settings, assumed = choose(known, arguments.config)
    if assumed and not arguments.quiet:
        say(assumed)
    if known.operatorVersion is UNKNOWN and settings.operator_version:
        known = known._replace(operatorVersion=settings.operator_version)
    asked = Asked(known, settings, arguments.namespace)
    codes, children, found = [OK], [], 0
    for file in find(arguments.paths, arguments.exclude):
        try:
            if isinstance(file, InputError):
                raise file
            text = load_text(file)
        except InputError as error:
            say(str(error))
            codes.append(UNREADABLE)
            continue
        outcome = render_text(file, text, asked)
        children += outcome.children
        found += outcome.objects
        for line in (*map(str, outcome.unreadable), *outcome.problems):
            say(line)
        codes += [UNREADABLE] * bool(outcome.unreadable) + [REFUSED] * bool(outcome.problems)
    if not found and not arguments.allow_empty:
        say("no object of our kinds was found; --allow-empty makes that fine")
        codes.append(NOTHING_FOUND)
    _put(_chosen(children, arguments.only), arguments)
    return worst(codes)


def _chosen(children: list[Fields], kinds: list[str]) -> list[Fields]:
    wanted = {kind.lower() for kind in kinds}
    return [one for one in children if not wanted or one["kind"].lower() in wanted]


def _put(children: list[Fields], arguments: argparse.Namespace) -> None:
    from cli.output import say, write
    from cli.render.write import into_folder, stream

    if arguments.directory is None:
        write(stream(children, arguments.output))
    else:
        for path in into_folder(children, arguments.directory, arguments.output):
            say(path)
