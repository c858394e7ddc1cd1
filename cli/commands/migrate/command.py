"""`migrate`: moves the stored objects of the cluster to another version, proves it, and goes back."""

import asyncio
import json
import math
from typing import Final

from ....api.kinds import BY_NAME, KINDS
from ...console.escaping import escape_document
from ...console.exits import INTERRUPTED, OK, REFUSED, UNREACHABLE, UsageError
from ...console.kind_names import parse_kind
from ...console.output import write_stderr, write_stdout
from ...console.signals import on_first_signal
from ...installation.connection import connect_cluster
from .context import MANAGER, MigrationContext
from .options import Options
from .progress import Progress
from .report import MigrationReport, as_text

HELP: Final = "move stored objects to another version, with a plan before and a proof after, and back"


def run(options: Options) -> int:
    """0 when all is moved and proven, 1 when not, 6 when the cluster can't be reached, 130 when stopped. Raises: UsageError."""
    _agree(options)
    report = asyncio.run(_run(options._replace(kinds=_kinds(options.kinds))))
    write_stdout(escape_document(json.dumps(report.as_data(), indent=2)) + "\n" if options.output == "json" else as_text(report))
    if report.stopped:
        return INTERRUPTED
    if report.unreachable:
        return UNREACHABLE
    wrong = report.blocked or report.failed or any(each.refused for each in report.kinds)
    return REFUSED if wrong or not (report.dry_run or report.proven) else OK


def _agree(options: Options) -> None:
    """Raises: UsageError for flags that don't go together, and for numbers that are none."""
    if not options.to:
        raise UsageError("--to: must be given; v1beta1 is the version that stays, v1alpha1 the way back")
    if options.retire and options.retire == options.to:
        raise UsageError(f"--retire {options.retire}: must be another version than --to")
    if options.verify and options.dry_run:
        raise UsageError("--verify: writes objects that are stored in another version, which --dry-run forbids")
    for flag, value in (("--rate", options.rate), ("--settle", options.settle), ("--patience", options.patience)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise UsageError(f"{flag}: must be a number that is not negative, got {value}")
    if options.rate == 0:
        raise UsageError("--rate: must be more than 0, got 0; leave it out for no limit")


def _kinds(words: tuple[str, ...]) -> tuple[str, ...]:
    named = dict.fromkeys(map(parse_kind, words)) or [kind.name for kind in KINDS if len(kind.versions) > 1]
    for name in named:
        if len(BY_NAME[name].versions) < 2:
            raise UsageError(f"--kind {name}: has one version; there is nothing to move")
    return tuple(named)


async def _run(options: Options) -> MigrationReport:
    async with connect_cluster(MANAGER, options.kubeconfig, options.context) as cluster:
        context = MigrationContext(
            cluster, lambda server: connect_cluster(MANAGER, options.kubeconfig, options.context, server), options, write_stderr
        )
        on_first_signal(context.stop)
        from .run import MigrationRun

        return await MigrationRun(context, Progress(write_stderr)).run(options.retire)
