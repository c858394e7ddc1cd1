"""The command `diff`: what really changes between two sets of objects. Flags, output and exit codes here; the work is in cli/diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.facts.load import asked_facts

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.cli.diff.pairs import Side
    from dynamo_webhooks.cli.diff.run import Compared
    from dynamo_webhooks.cli.yaml.load import InputError

_KEYS = ("profile", "line", "facts")  # of the project file

HELP = "show what changes between files, folders, Git revisions or a cluster, and the response to the update"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    sides = "file, folder, - for standard input, or REVISION:PATH of Git, such as main:deploy"
    parser.add_argument("old", metavar="OLD", nargs="?", help=f"old objects: {sides}")
    parser.add_argument("new", metavar="NEW", nargs="?", help="new objects: the same")
    flags.cluster(parser, "compare one PATH with a cluster: its objects now, and with the files applied to them")
    parser.add_argument("--to", choices=("v1alpha1", "v1beta1"), help="version to compare in (default: the new object's)")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="files to leave out; repeatable")
    parser.add_argument("--spelling", action="store_true", help="also show equal values that are written differently, such as 1000m and 1")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="format (default %(default)s)")
    parser.add_argument("--as", dest="user", default="", metavar="USER", help="user name of the update")
    parser.add_argument("--profile", choices=("current", "1.2"), help="set of defaults and verdicts (default current)")
    flags.facts(parser)
    parser.add_argument("--allow-empty", action="store_true", help="accept no Dynamo object")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compares and prints; 0 when nothing differs, 1 when something does or can't be compared, 3, 4, 6, 70.

    Raises: UsageError for wrong flags, facts or revisions.
    """
    from dynamo_webhooks.cli.diff.form import Asked
    from dynamo_webhooks.cli.diff.pairs import pairs
    from dynamo_webhooks.cli.diff.run import ADDED, REMOVED, compared
    from dynamo_webhooks.cli.exits import UNREACHABLE
    from dynamo_webhooks.cli.output import say
    from dynamo_webhooks.cli.project.lay import lay

    _agree(arguments)
    lay(arguments, _KEYS, [arguments.new or arguments.old])
    known = asked_facts(arguments)
    if arguments.cluster:
        from dynamo_webhooks.cli.check.cluster import look

        sight = look(arguments.kubeconfig, arguments.context, arguments.namespace)
        if sight.unreachable:
            say(sight.unreachable)
            return UNREACHABLE
        known = sight.fill(known)
    asked = Asked(known, arguments.profile or "current", arguments.user, arguments.to or "")
    if arguments.cluster:
        from dynamo_webhooks.cli.check.live import Live
        from dynamo_webhooks.cli.diff.pairs import with_live

        old, new = with_live(arguments.old, arguments.exclude, Live(sight, arguments.namespace), asked.line)
    else:
        old, new = _sides(arguments)
    # where nothing of a side can be read, the other side's objects are neither gone nor new
    sides = () if arguments.cluster else ((REMOVED, new), (ADDED, old))
    untold = [what for what, side in sides if side.unreadable and not side.objects]
    results = [one for pair in pairs(old.objects, new.objects) if (one := compared(pair, asked)).what not in untold]
    unreadable = [*old.unreadable, *new.unreadable]
    code = _code(results, unreadable=bool(unreadable), allow_empty=arguments.allow_empty)
    _print(arguments, results, unreadable, code)
    for error in unreadable:
        say(str(error))
    return code


def _agree(arguments: argparse.Namespace) -> None:
    """Refuses sides that are none, and flags that don't go together."""
    from dynamo_webhooks.cli.exits import UsageError

    flags.need_cluster(arguments, "compare with a cluster")
    if arguments.cluster and (arguments.new or not arguments.old):
        raise UsageError("--cluster is the old side: name one file, folder or REVISION:PATH, the new objects")
    if not arguments.cluster and (not arguments.old or not arguments.new):
        raise UsageError("name two files, folders or REVISION:PATH: the old objects, then the new ones; or one and --cluster")
    if arguments.old == arguments.new == "-":
        raise UsageError("only one side can be standard input")


def _sides(arguments: argparse.Namespace) -> tuple[Side, Side]:
    from dynamo_webhooks.cli.diff.pairs import load_side

    return load_side(arguments.old, arguments.exclude), load_side(arguments.new, arguments.exclude)


def _code(results: list[Compared], *, unreadable: bool, allow_empty: bool) -> int:
    from dynamo_webhooks.cli import exits
    from dynamo_webhooks.cli.check.record import FAULT
    from dynamo_webhooks.cli.diff.run import EQUAL

    codes = [exits.BUG] * any(finding.level == FAULT for one in results for finding in one.findings)
    codes += [exits.UNREADABLE] * unreadable
    codes += [exits.REFUSED] * any(one.what != EQUAL for one in results)
    codes += [exits.NOTHING_FOUND] * (not results and not allow_empty)
    return exits.worst(codes)


def _print(arguments: argparse.Namespace, results: list[Compared], unreadable: list[InputError], code: int) -> None:
    from dynamo_webhooks.cli.diff import reports
    from dynamo_webhooks.cli.exits import NO_OBJECT
    from dynamo_webhooks.cli.output import say, write

    if arguments.output == "json":
        from dynamo_webhooks.cli.rewrite.fresh import json_text

        write(json_text(reports.document(results, unreadable, code)))
    else:
        write(reports.text(results, spelling=arguments.spelling))
    if not results and not unreadable and not arguments.allow_empty:
        say(NO_OBJECT)
    elif (results or not unreadable) and not arguments.quiet and arguments.output == "text":
        say(reports.summary(results))
