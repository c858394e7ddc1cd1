"""`doctor`: looks at an installation, tries it with requests that change nothing, and says what to do about what is wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.cluster import connected
from dynamo_webhooks.cli.exits import OK, REFUSED, UNREACHABLE
from dynamo_webhooks.cli.output import say, write

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.cli.doctor.finding import Finding
    from dynamo_webhooks.cli.doctor.sight import Sight
    from dynamo_webhooks.kube.protocol import Cluster
    from dynamo_webhooks.kube.storage_versions import Opener

HELP: Final = "inspect an installation: conversion, trust, certificates, servers and dry-run requests"
_NEAR: Final = 5.0  # seconds for an API server by its own address, which can't be reached from everywhere


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add = parser.add_argument
    add(
        "--namespace",
        "-n",
        metavar="NS",
        default="",
        help="namespace of the installation (default: the configuration's, else dynamo-system)",
    )
    add("--config", metavar="FILE", help="OperatorConfiguration with its names (default: the one in the cluster)")
    flags.lenient(parser)
    flags.kubeconfig(parser)
    add("--context", metavar="NAME", default="", help="context of the kubeconfig")
    add("--all", action="store_true", help="read every object for the version that it is stored in (default: 20 of each kind)")
    add("--uninstall-check", action="store_true", help="list what prevents removing the installation, in the order of removal")
    add("-o", "--output", choices=("text", "json"), default="text", help="format (default text)")
    flags.verbose(parser)


def run(args: argparse.Namespace) -> int:
    """1 when something is an error, 6 when the cluster can't be reached. Raises: UsageError for a wrong configuration."""
    from dynamo_webhooks.cli.doctor.finding import Level, as_data, as_text, ordered
    from dynamo_webhooks.kube.errors import ApiError

    try:
        findings = ordered(asyncio.run(_examine(args)))
    except ApiError as error:
        say(f"the cluster can't be looked at: {error.message}")
        return UNREACHABLE
    write(json.dumps(as_data(findings), indent=2) + "\n" if args.output == "json" else as_text(findings))
    return REFUSED if any(each.level is Level.ERROR for each in findings) else OK


async def _examine(args: argparse.Namespace) -> list[Finding]:
    async with connected("dynamo-webhooks-doctor", args.kubeconfig, args.context) as cluster:

        def opener(server: str) -> contextlib.AbstractAsyncContextManager[Cluster]:
            return connected("dynamo-webhooks-doctor", args.kubeconfig, args.context, server=server, patience=_NEAR)

        more = {"removing": args.uninstall_check, "lenient": args.lenient_config, "everything": args.all}
        return await examine(cluster, args.namespace, args.config, opener=opener, **more)


async def examine(
    cluster: Cluster,
    namespace: str,
    config: str | None,
    *,
    removing: bool,
    lenient: bool = False,
    everything: bool = False,
    opener: Opener | None = None,
) -> list[Finding]:
    """All findings, in the order of the checks; `opener` connects to one of several API servers, which are asked each with it alone.

    Raises: ApiError when the cluster can't be asked, UsageError.
    """
    from dynamo_webhooks.cli.doctor import about, repairs
    from dynamo_webhooks.cli.doctor.contents import contents
    from dynamo_webhooks.cli.doctor.emptied import emptied
    from dynamo_webhooks.cli.doctor.finding import warning
    from dynamo_webhooks.cli.doctor.issuing import issuing
    from dynamo_webhooks.cli.doctor.removal import removal
    from dynamo_webhooks.cli.doctor.sight import look
    from dynamo_webhooks.cli.doctor.storage import servers
    from dynamo_webhooks.cli.doctor.trial import requests

    if config is not None:
        (place, wrong), what = about.by_file(config, namespace, lenient=lenient), config
    else:
        place, wrong = await about.in_cluster(cluster, namespace, lenient=lenient)
        what = f"ConfigMap {place.profile.namespace}/{about.CONFIG}"
    found = [warning("configuration", what, wrong)] if wrong else []
    sight = await look(cluster, place)
    found += [warning("permission", what, f"can't be read: {why}") for what, why in sight.unseen.items()]
    if removing:
        return [*found, *await removal(cluster, sight)]
    found += [*judge(sight), *await issuing(cluster, sight), *await emptied(cluster, sight)]
    found += [*await contents(cluster, sight, everything=everything), *(await servers(cluster, opener, sight) if opener else ())]
    return [*found, *await requests(cluster, sight.namespace, sight.claims, repairs.manifests(place))]


def judge(sight: Sight) -> list[Finding]:
    """What follows from the sight alone."""
    from dynamo_webhooks.cli.doctor import certificates, objects, running

    checks = (
        running.endpoints,
        running.provisioner,
        objects.kinds,
        objects.lines,
        objects.configurations,
        certificates.secrets,
        certificates.trust,
        certificates.rotation,
        objects.guard,
        running.scope,
    )
    return [each for check in checks for each in check(sight)]
