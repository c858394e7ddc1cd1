"""The command `facts`: what a cluster tells of itself, as a facts file to commit. The work is in cli/facts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.cli import flags

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.cli.facts.cluster import Gathered

HELP: Final = "collect facts about a cluster in a file to commit"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add = parser.add_argument
    add("--cluster", action="store_true", help="read the cluster, without changing it")
    add("--namespace", "-n", metavar="NS", default="", help="namespace of the operator, if several are installed")
    flags.kubeconfig(parser)
    add("--context", metavar="NAME", default="", help="context of the kubeconfig")
    add("--redact", action="store_true", help="replace names of namespaces and accounts by numbers")
    add("-o", "--output", metavar="FILE", help="file to write instead of stdout")
    flags.verbose(parser)


def run(args: argparse.Namespace) -> int:
    """Prints or writes the file; 6 when the cluster can't be reached.

    Raises: UsageError.
    """
    from dynamo_webhooks.cli.exits import OK, UNREACHABLE, UsageError
    from dynamo_webhooks.cli.facts.text import as_text, redacted
    from dynamo_webhooks.cli.output import say, write
    from dynamo_webhooks.cli.replace import replace
    from dynamo_webhooks.kube.errors import ApiError

    if not args.cluster:
        raise UsageError(
            "--cluster must be given: facts are asked of a cluster, that of the current context unless --kubeconfig or --context say more"
        )
    try:
        found = asyncio.run(_gathered(args))
    except ApiError as error:
        say(f"the cluster can't be asked: {error.message}")
        return UNREACHABLE
    found = redacted(found) if args.redact else found
    if args.output is None:
        write(as_text(found))
    else:
        replace(args.output, as_text(found))
    for name, reason in found.reasons.items():
        say(f"{name} is not known: {reason}")
    return OK


async def _gathered(args: argparse.Namespace) -> Gathered:
    from dynamo_webhooks.cli.cluster import connected
    from dynamo_webhooks.cli.facts.cluster import MANAGER, gathered

    async with connected(MANAGER, args.kubeconfig, args.context) as cluster:
        return await gathered(cluster, args.namespace)
