"""The command `diff`: what really changes between two sets of objects."""

from __future__ import annotations

import argparse

from ....api.line import Line
from ...console import exits, flags
from ...console.exits import NO_OBJECT, UNREACHABLE, UsageError
from ...console.output import write_stderr, write_stdout
from ...yaml.load import InputError
from .run import Compared

_KEYS = ("line", "facts", "clusters")  # of the project file

HELP = "show what changes between files, folders, Git revisions or a cluster, and the response to the update"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    sides = "file, folder, - for standard input, or REVISION:PATH of Git, such as main:deploy"
    parser.add_argument("old", metavar="OLD", nargs="?", help=f"old objects: {sides}")
    parser.add_argument("new", metavar="NEW", nargs="?", help="new objects: the same")
    flags.cluster(parser, "compare one PATH with a cluster: its objects now, and with the files applied to them")
    parser.add_argument("--to", choices=("v1alpha1", "v1beta1"), help="version to compare in (default: the new object's)")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="files to leave out; repeatable")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="format (default %(default)s)")
    parser.add_argument("--as", dest="user", default="", metavar="USER", help="user name of the update")
    flags.facts(parser)
    parser.add_argument("--allow-empty", action="store_true", help="accept no Dynamo object")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compares and prints; 0 when nothing differs, 1 when something does or can't be compared, 3, 4, 6, 70.

    Raises: UsageError for wrong flags, facts or revisions.
    """
    from ...objects.forms import Server
    from ...project.apply import Targets, apply_project
    from .form import Asked
    from .pairs import load_side, pairs, path_of, with_live
    from .run import ADDED, REMOVED, compare_pair, source_of

    _agree(arguments)
    apply_project(arguments, _KEYS, [arguments.new or arguments.old])
    targets = Targets(arguments)
    sight = None
    if arguments.cluster:
        from ...objects.cluster_snapshot import snapshot_cluster

        sight = snapshot_cluster(arguments.kubeconfig, arguments.context, arguments.namespace)
        if sight.unreachable:
            write_stderr(sight.unreachable)
            return UNREACHABLE

    def asked(name: str) -> Asked:
        facts = targets.of(path_of(name)).facts
        return Asked(Server(facts if sight is None else sight.fill(facts), arguments.user), arguments.to or "")

    if sight is not None:
        from ...objects.cluster_snapshot import Live

        def placed(name: str) -> tuple[str, Line]:
            return arguments.namespace or targets.of(name).namespace, asked(name).server.line

        old, new = with_live(arguments.old, arguments.exclude, Live(sight, arguments.namespace), placed)
    else:
        old, new = (load_side(path, arguments.exclude) for path in (arguments.old, arguments.new))
    # where nothing of a side can be read, the other side's objects are neither gone nor new
    sides = () if arguments.cluster else ((REMOVED, new), (ADDED, old))
    untold = [what for what, side in sides if side.unreadable and not side.objects]
    results = [one for pair in pairs(old, new) if (one := compare_pair(pair, asked(source_of(pair)))).what not in untold]
    unreadable = [*old.unreadable, *new.unreadable]
    code = _code(results, unreadable=bool(unreadable), allow_empty=arguments.allow_empty)
    _print(arguments, results, unreadable, code)
    for error in unreadable:
        write_stderr(str(error))
    return code


def _agree(arguments: argparse.Namespace) -> None:
    """Refuses sides that are none, and flags that don't go together."""
    flags.need_cluster(arguments, "compare with a cluster")
    if arguments.cluster and (arguments.new or not arguments.old):
        raise UsageError("--cluster is the old side: name one file, folder or REVISION:PATH, the new objects")
    if not arguments.cluster and (not arguments.old or not arguments.new):
        raise UsageError("name two files, folders or REVISION:PATH: the old objects, then the new ones; or one and --cluster")
    if arguments.old == arguments.new == "-":
        raise UsageError("only one side can be standard input")


def _code(results: list[Compared], *, unreadable: bool, allow_empty: bool) -> int:
    from ...validation.levels import FAULT
    from .run import EQUAL

    codes = [exits.BUG] * any(finding.level == FAULT for one in results for finding in one.findings)
    codes += [exits.UNREADABLE] * unreadable
    codes += [exits.REFUSED] * any(one.what != EQUAL for one in results)
    codes += [exits.NOTHING_FOUND] * (not results and not allow_empty)
    return exits.worst_code(codes)


def _print(arguments: argparse.Namespace, results: list[Compared], unreadable: list[InputError], code: int) -> None:
    from . import reports

    if arguments.output == "json":
        from ...rewrite.emit import emit_json

        write_stdout(emit_json(reports.document(results, unreadable, code)))
    else:
        write_stdout(reports.text(results))
    if not results and not unreadable and not arguments.allow_empty:
        write_stderr(NO_OBJECT)
    elif (results or not unreadable) and not arguments.quiet and arguments.output == "text":
        write_stderr(reports.summary(results))
