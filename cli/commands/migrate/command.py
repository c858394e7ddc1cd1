"""`migrate`: moves the stored objects of the cluster to another version, proves it, and goes back."""

import argparse
import asyncio
import json
import math
from typing import Final

from ....api.kinds import BY_NAME, KINDS
from ...console import flags
from ...console.escaping import visible
from ...console.exits import INTERRUPTED, OK, REFUSED, UNREACHABLE, UsageError
from ...console.flags import parse_kind
from ...console.output import write_stderr, write_stdout
from ...console.signals import on_first_signal
from ...installation.connection import connect_cluster
from .options import MANAGER, PATIENCE, SETTLE, Hands, Options
from .progress import Progress
from .report import Report, as_text

HELP: Final = "move stored objects to another version, with a plan before and a proof after, and back"
VERSIONS: Final = ("v1alpha1", "v1beta1")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add = parser.add_argument
    add("--to", choices=VERSIONS, help="version to store all objects in; required")
    add("--kind", action="append", default=[], metavar="KIND", help="only this kind; repeatable (default: all with two versions)")
    add("--namespace", "-n", metavar="NS", default="", help="only objects of this namespace; status.storedVersions isn't updated then")
    add("--dry-run", action="store_true", help="print what would happen, and write nothing")
    add("--verify", action="store_true", help="only verify: change no definition; objects stored in another version are moved")
    add("--retire", choices=VERSIONS, metavar="VERSION", help="also list objects whose managed fields name this version")
    add("--rate", type=float, metavar="N", help="maximum objects per second (default: as fast as possible)")
    add("--settle", type=float, default=SETTLE, metavar="SECONDS", help="wait before the proof (default 60: a request's time limit)")
    add("--patience", type=float, default=PATIENCE, metavar="SECONDS", help="wait for a failing API server or webhook (default 1800)")
    add("--api-server", action="append", default=[], metavar="URL", help="one of the API servers; repeatable (default: the cluster's)")
    add("--take-over", action="store_true", help="continue even if the operator's own migrator hasn't observed the definitions")
    flags.kubeconfig(parser)
    add("--context", metavar="NAME", default="", help="context of the kubeconfig")
    add("-o", "--output", choices=("text", "json"), default="text", help="format of the report (default text)")
    flags.verbose(parser)


def run(args: argparse.Namespace) -> int:
    """0 when all is moved and proven, 1 when not, 6 when the cluster can't be reached, 130 when stopped. Raises: UsageError."""
    report = asyncio.run(_run(args, _options(args)))
    write_stdout(visible(json.dumps(report.as_data(), indent=2)) + "\n" if args.output == "json" else as_text(report))
    if report.stopped:
        return INTERRUPTED
    if report.unreachable:
        return UNREACHABLE
    wrong = report.blocked or report.failed or any(each.refused for each in report.kinds)
    return REFUSED if wrong or not (report.dry_run or report.proven) else OK


def _options(args: argparse.Namespace) -> Options:
    """Raises: UsageError for flags that don't go together, and for numbers that are none."""
    if not args.to:
        raise UsageError("--to: must be given; v1beta1 is the version that stays, v1alpha1 the way back")
    if args.retire and args.retire == args.to:
        raise UsageError(f"--retire {args.retire}: must be another version than --to")
    if args.verify and args.dry_run:
        raise UsageError("--verify: writes objects that are stored in another version, which --dry-run forbids")
    for flag, value in (("--rate", args.rate), ("--settle", args.settle), ("--patience", args.patience)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise UsageError(f"{flag}: must be a number that is not negative, got {value}")
    if args.rate == 0:
        raise UsageError("--rate: must be more than 0, got 0; leave it out for no limit")
    return Options(
        to=args.to,
        kinds=_kinds(args.kind),
        namespace=args.namespace,
        dry_run=args.dry_run,
        verify=args.verify,
        rate=args.rate or 0.0,
        take_over=args.take_over,
        settle=args.settle,
        patience=args.patience,
        servers=tuple(args.api_server),
    )


def _kinds(words: list[str]) -> tuple[str, ...]:
    named = dict.fromkeys(map(parse_kind, words)) or [kind.name for kind in KINDS if len(kind.versions) > 1]
    for name in named:
        if len(BY_NAME[name].versions) < 2:
            raise UsageError(f"--kind {name}: has one version; there is nothing to move")
    return tuple(named)


async def _run(args: argparse.Namespace, options: Options) -> Report:
    async with connect_cluster(MANAGER, args.kubeconfig, args.context) as cluster:
        hands = Hands(cluster, lambda server: connect_cluster(MANAGER, args.kubeconfig, args.context, server), options, write_stderr)
        on_first_signal(hands.stop)
        from .run import Run

        return await Run(hands, Progress(write_stderr)).run(args.retire)
