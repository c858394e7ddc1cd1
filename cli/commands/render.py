"""The command `render`: the children that the reconciler would apply. Flags, output and exit codes here; the work is in cli/render."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.facts.load import asked_facts

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.cli.render.run import Asked, Outcome
    from dynamo_webhooks.conversion.lens.protocol import Fields

HELP = "print the child resources that the reconciler would apply"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    flags.paths(parser)
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="YAML documents, or one JSON list (default yaml)")
    parser.add_argument("-d", "--directory", metavar="DIR", help="write a file for each child instead of printing")
    parser.add_argument("--only", action="append", default=[], metavar="KIND", help="children of one kind, such as Deployment; repeatable")
    parser.add_argument("--against", metavar="GIT-REF", help="print which pods would restart since this Git revision, and why")
    parser.add_argument("-n", "--namespace", default="default", help="namespace of objects without one (default: default)")
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
    from dynamo_webhooks.cli.check.sources import find
    from dynamo_webhooks.cli.exits import NO_OBJECT, NOTHING_FOUND, UNREADABLE, UsageError, worst
    from dynamo_webhooks.cli.output import say
    from dynamo_webhooks.cli.render.run import Asked, choose, lay_project, render_file
    from dynamo_webhooks.policies.facts import UNKNOWN

    if not arguments.paths:
        raise UsageError("name at least one file, folder or glob, or - for standard input")
    if arguments.against is not None and arguments.directory is not None:
        raise UsageError("--against prints what restarts, -d writes children: use one of them")
    lay_project(arguments)
    known = asked_facts(arguments)
    operator, assumed = choose(known, arguments.config, lenient=arguments.lenient_config)
    if assumed and not arguments.quiet:
        say(assumed)
    if known.operatorVersion is UNKNOWN and operator.settings.operator_version:
        known = known._replace(operatorVersion=operator.settings.operator_version)
    asked = Asked(known, operator, arguments.namespace)
    files = find(arguments.paths, arguments.exclude)
    done = [render_file(file, asked) for file in files]
    for line in (line for one in done for line in (*one.told, *one.notes)):
        say(line)
    codes = [_code(one) for one in done]
    if not any(one.made for one in done) and not arguments.allow_empty and UNREADABLE not in codes:
        say(NO_OBJECT)
        codes.append(NOTHING_FOUND)
    every = [child for one in done for child in one.children]
    children = _chosen(every, arguments.only)
    for line in _missed(every, arguments.only):
        say(line)
    if arguments.against is None:
        _put(children, arguments)
    else:
        named = [file for file in files if isinstance(file, str)]
        _compare(children, named, asked, arguments, whole=not any(map(_code, done)))
    return worst(codes)


def _code(outcome: Outcome) -> int:
    from dynamo_webhooks.cli.exits import OK, REFUSED, UNREADABLE, worst

    return worst([OK, *[UNREADABLE] * bool(outcome.unreadable), *[REFUSED] * bool(outcome.problems)])


def _compare(children: list[Fields], files: list[str], asked: Asked, arguments: argparse.Namespace, *, whole: bool) -> None:
    """Prints which pods restart on the way from a revision to the files as they are."""
    from dynamo_webhooks.cli.output import say, write
    from dynamo_webhooks.cli.render.restarts import report, restarts
    from dynamo_webhooks.cli.render.run import render_revision
    from dynamo_webhooks.cli.rewrite.fresh import json_text

    before: list[Fields] = []
    for outcome, begin in render_revision(arguments, files, asked):
        before += outcome.children
        for line in outcome.told:
            say(f"{begin}{line}")
            whole = False
    found = restarts(_chosen(before, arguments.only), children)
    write(json_text([one._asdict() for one in found]) if arguments.output == "json" else report(found, whole=whole))


def _chosen(children: list[Fields], kinds: list[str]) -> list[Fields]:
    wanted = {kind.lower() for kind in kinds}
    return [one for one in children if not wanted or one["kind"].lower() in wanted]


def _missed(children: list[Fields], kinds: list[str]) -> list[str]:
    """A sentence for each kind that was asked for and isn't among the children, where there are any."""
    from dynamo_webhooks.api.wording import shortened
    from dynamo_webhooks.cli.nearest import hint

    made = {str(one["kind"]).lower(): str(one["kind"]) for one in children}
    missed = [kind for kind in dict.fromkeys(kinds) if children and kind.lower() not in made]
    return [f"--only {shortened(kind, 80)}: no child of this kind is made{hint(kind, sorted(made.values()))}" for kind in missed]


def _put(children: list[Fields], arguments: argparse.Namespace) -> None:
    from dynamo_webhooks.cli.output import say, write
    from dynamo_webhooks.cli.render.run import into_folder, stream

    if arguments.directory is None:
        write(stream(children, arguments.output))
    else:
        for path in into_folder(children, arguments.directory, arguments.output):
            say(path)
