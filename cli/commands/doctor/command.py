"""`doctor`: checks an installation, tries it with dry-run requests, and suggests repairs."""

from __future__ import annotations

import argparse
import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Final

from ....kube.errors import ApiError
from ...console import flags
from ...console.escaping import visible
from ...console.exits import OK, REFUSED, UNREACHABLE
from ...console.output import write_stderr, write_stdout
from ...installation.connection import connect_cluster
from .finding import Finding, Level, as_data, as_text, sort_findings, warning

if TYPE_CHECKING:
    from ....api.line import Line
    from ....kube.protocol import Cluster
    from ....kube.storage_versions import Opener

HELP: Final = "inspect an installation: conversion, trust, certificates, servers and dry-run requests"
_NEAR: Final = 5.0  # seconds for an API server by its own address, which can't be reached from everywhere


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add = parser.add_argument
    where = "namespace of the installation (default: the configuration's, else dynamo-system)"
    add("--namespace", "-n", metavar="NS", default="", help=where)
    add("--config", metavar="FILE", help="OperatorConfiguration with its names (default: the one in the cluster)")
    flags.lenient(parser)
    flags.kubeconfig(parser)
    add("--context", metavar="NAME", default="", help="context of the kubeconfig")
    add("--uninstall-check", action="store_true", help="list what prevents removing the installation, in the order of removal")
    flags.upgrade(parser, "also name versions of other controllers beside those of each line up to this one, and pods at scheduling gates")
    add("-o", "--output", choices=("text", "json"), default="text", help="format (default text)")
    flags.verbose(parser)


def run(args: argparse.Namespace) -> int:
    """1 when something is an error, 6 when the cluster can't be reached. Raises: UsageError for a wrong configuration."""
    try:
        findings = sort_findings(asyncio.run(_examine(args)))
    except ApiError as error:
        write_stderr(f"the cluster can't be looked at: {error.message}")
        return UNREACHABLE
    write_stdout(visible(json.dumps(as_data(findings), indent=2)) + "\n" if args.output == "json" else as_text(findings))
    return REFUSED if any(each.level is Level.ERROR for each in findings) else OK


async def _examine(args: argparse.Namespace) -> list[Finding]:
    connect = partial(connect_cluster, "dynamo-webhooks-doctor", args.kubeconfig, args.context)
    async with connect() as cluster:
        return await examine(
            cluster,
            args.namespace,
            args.config,
            removing=args.uninstall_check,
            lenient=args.lenient_config,
            opener=partial(connect, patience=_NEAR),
            upgrade_to=args.upgrade_to,
        )


async def examine(
    cluster: Cluster,
    namespace: str,
    config: str | None,
    *,
    removing: bool,
    lenient: bool = False,
    opener: Opener | None = None,
    upgrade_to: Line | None = None,
) -> list[Finding]:
    """All findings, in the order of the checks; `opener` connects to one of several API servers. Raises: ApiError, UsageError."""
    from ...installation import names
    from . import certificates, definitions, repairs, storage
    from .dry_run import requests
    from .neighbours import neighbours
    from .observe import look

    if config is not None:
        (place, wrong), what = names.by_file(config, namespace, lenient=lenient), config
    else:
        place, wrong = await names.in_cluster(cluster, namespace, lenient=lenient)
        what = f"ConfigMap {place.profile.namespace}/{names.CONFIG}"
    found = [warning("configuration", what, wrong)] if wrong else []
    sight = await look(cluster, place)
    found += [warning("permission", what, f"can't be read: {why}") for what, why in sight.unseen.items()]
    if removing:
        return [*found, *await storage.removal(cluster, sight)]
    checks = (
        certificates.endpoints,
        certificates.provisioner,
        definitions.kinds,
        definitions.lines,
        definitions.configurations,
        definitions.new_pods,
        storage.versions,
        certificates.secrets,
        certificates.trust,
        certificates.rotation,
        definitions.guard,
        certificates.scope,
    )
    found += [each for check in checks for each in check(sight)]
    found += await storage.contents(cluster, sight)
    found += await storage.servers(cluster, opener, sight) if opener else ()
    found += await neighbours(cluster, sight, upgrade_to) if upgrade_to is not None else ()
    return [*found, *await requests(cluster, sight.namespace, sight.claims, repairs.manifests(place))]
