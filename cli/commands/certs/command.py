"""`certs`: certificate work by hand, with the provisioner's own parts. Flags become an installation here; the work is in work.py."""

from __future__ import annotations

import argparse
import asyncio
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from ....kube.errors import ApiError, UnavailableError
from ...console import flags
from ...console.escaping import encode_json
from ...console.exits import OK, REFUSED, UNREACHABLE, UsageError
from ...console.output import write_stderr, write_stdout
from ...installation.configuration import load_configuration
from ...installation.connection import connect_cluster

if TYPE_CHECKING:
    from ....certs.installation import Installation
    from ....kube.protocol import Cluster
    from ...yaml.load import Source

HELP: Final = "inspect, issue and rotate certificates, and write bundles"
# configuration keys by flag
KEYS: Final = {
    "namespace": ("operator", "namespace"),
    "secret": ("server", "webhook", "secretName"),
    "service": ("server", "webhook", "serviceName"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add = parser.add_argument
    add(
        "action",
        choices=("inspect", "issue", "rotate", "inject"),
        help="inspect: show everything; issue: a new certificate now; rotate: ask the provisioner for a new CA; "
        "inject: write the caBundle into all objects that lack it",
    )
    flags.configuration(parser)
    flags.kubeconfig(parser)
    parser.add_argument("--context", metavar="NAME", default="", help="context of the kubeconfig")
    add("--namespace", metavar="NS", help="namespace of the installation (default: the pod's, else dynamo-system)")
    add("--secret", metavar="NAME", help="serving Secret (default webhook-server-cert)")
    add("--service", metavar="NAME", help="Service of the webhooks (default dynamo-webhooks)")
    add("--compromised", action="store_true", help="rotate: the CA's key was disclosed, so don't wait")
    add("--dry-run", action="store_true", help="print what would be done, and write nothing")
    add("-o", "--output", choices=("text", "json"), default="text", help="inspect: the format")
    flags.verbose(parser)


def run(args: argparse.Namespace) -> int:
    """Does one thing; 1 when it isn't or can't be so, 6 when the API server can't be reached. Raises: UsageError."""
    from .work import RefusedError

    if args.compromised and args.action != "rotate":
        raise UsageError("--compromised: is for rotate alone")
    try:
        return asyncio.run(_cluster(args))
    except RefusedError as error:
        write_stderr(str(error))
        return REFUSED
    except ApiError as error:
        write_stderr(error.message)
        return UNREACHABLE if isinstance(error, UnavailableError) else REFUSED


def _about(args: argparse.Namespace, config: str | Source | None = None) -> Installation:
    """The installation of a configuration, the one of --config by default, under what flags say. Raises: UsageError."""
    from ....certs.installation import installation

    config, given = config or args.config, vars(args)
    flags: dict[tuple[str, ...], tuple[str, Any]] = {
        key: (f"--{name}", given[name]) for name, key in KEYS.items() if given[name] is not None
    }
    effective = load_configuration(config, os.environ, flags, lenient=args.lenient_config)
    if not effective.configuration.operator.namespace:
        flags[KEYS["namespace"]] = ("--namespace", "dynamo-system")
        effective = load_configuration(config, os.environ, flags, lenient=args.lenient_config)
    for line in effective.unknown:
        write_stderr(f"warning: {line}")
    return installation(effective.configuration)


async def installed(args: argparse.Namespace, cluster: Cluster) -> Installation:
    """The installation that is worked on: that of --config, else of the configuration in the cluster. Raises: UsageError, ApiError."""
    from ...installation.names import CONFIG, configuration_in

    about = _about(args)
    if args.config is not None:
        return about
    found, wrong = await configuration_in(cluster, about.profile.namespace)
    if wrong:
        write_stderr(f"the default configuration is used: the ConfigMap {about.profile.namespace}/{CONFIG} can't be read: {wrong}")
    return replace(_about(args, found), trust_file="") if found else about  # that file is in a pod


async def _cluster(args: argparse.Namespace) -> int:
    from ....certs.provision import COMPONENT
    from . import work

    async with connect_cluster(COMPONENT, args.kubeconfig, args.context) as cluster:
        hands = work.Hands(cluster, await installed(args, cluster))
        if args.action == "inspect":
            return _show(work.describe_cluster(await hands.gatherer.gather()), args.output)
        if args.action == "inject":
            done = await hands.inject(dry_run=args.dry_run)
            for _, text in done:
                write_stderr(text)
            if not done:
                write_stderr("every object shows the bundle already")
            return OK if all(well for well, _ in done) else REFUSED
        if args.action == "issue":
            write_stderr(await hands.issue(dry_run=args.dry_run))
        else:
            write_stderr(await hands.rotate(compromised=args.compromised, dry_run=args.dry_run))
        return OK


def _show(facts: dict[str, Any], output: str) -> int:
    from .work import as_text

    if output == "json":
        write_stdout(encode_json(facts, orjson.OPT_INDENT_2) + "\n")
    else:
        write_stdout(as_text(facts))
    return OK if facts["ready"] else REFUSED
