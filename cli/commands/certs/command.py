"""`certs`: certificate work by hand, with the provisioner's own parts. Flags become an installation here; the work is in work.py."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from ....kube.errors import ApiError, UnavailableError
from ...console.escaping import encode_json
from ...console.exits import OK, REFUSED, UNREACHABLE, UsageError
from ...console.output import write_stderr, write_stdout
from ...installation.configuration import load_configuration
from ...installation.connection import connect_cluster
from .options import Options

if TYPE_CHECKING:
    from ....certs.installation import Installation
    from ....kube.protocol import Cluster
    from ...yaml.load import Source

HELP: Final = "inspect, issue and rotate certificates, and write bundles"
_NAMESPACE: Final = ("operator", "namespace")


def run(options: Options) -> int:
    """Does one thing; 1 when it isn't or can't be so, 6 when the API server can't be reached. Raises: UsageError."""
    from .work import RefusedError

    if options.compromised and options.action != "rotate":
        raise UsageError("--compromised: is for rotate alone")
    try:
        return asyncio.run(_cluster(options))
    except RefusedError as error:
        write_stderr(str(error))
        return REFUSED
    except ApiError as error:
        write_stderr(error.message)
        return UNREACHABLE if isinstance(error, UnavailableError) else REFUSED


def _about(options: Options, config: str | Source | None = None) -> Installation:
    """The installation of a configuration, the one of --config by default, under what flags say. Raises: UsageError."""
    from ....certs.installation import installation

    config = config or options.config
    named = {
        _NAMESPACE: ("--namespace", options.namespace),
        ("server", "webhook", "secretName"): ("--secret", options.secret),
        ("server", "webhook", "serviceName"): ("--service", options.service),
    }
    given: dict[tuple[str, ...], tuple[str, Any]] = {key: pair for key, pair in named.items() if pair[1] is not None}
    effective = load_configuration(config, os.environ, given, lenient=options.lenient_config)
    if not effective.configuration.operator.namespace:
        given[_NAMESPACE] = ("--namespace", "dynamo-system")
        effective = load_configuration(config, os.environ, given, lenient=options.lenient_config)
    for line in effective.unknown:
        write_stderr(f"warning: {line}")
    return installation(effective.configuration)


async def choose_installation(options: Options, cluster: Cluster) -> Installation:
    """The installation that is worked on: that of --config, else of the configuration in the cluster. Raises: UsageError, ApiError."""
    from ...installation.names import CONFIG, read_configuration

    about = _about(options)
    if options.config is not None:
        return about
    source, wrong = await read_configuration(cluster, about.profile.namespace)
    if wrong:
        write_stderr(f"the default configuration is used: the ConfigMap {about.profile.namespace}/{CONFIG} can't be read: {wrong}")
    return replace(_about(options, source), trust_file="") if source else about  # that file is in a pod


async def _cluster(options: Options) -> int:
    from ....certs.provision import COMPONENT
    from . import work

    async with connect_cluster(COMPONENT, options.kubeconfig, options.context) as cluster:
        actions = work.CertificateActions(cluster, await choose_installation(options, cluster))
        if options.action == "inspect":
            return _show(work.describe_cluster(await actions.gatherer.gather()), options.output)
        if options.action == "inject":
            done = await actions.inject(dry_run=options.dry_run)
            for _, text in done:
                write_stderr(text)
            if not done:
                write_stderr("every object shows the bundle already")
            return OK if all(well for well, _ in done) else REFUSED
        if options.action == "issue":
            write_stderr(await actions.issue(dry_run=options.dry_run))
        else:
            write_stderr(await actions.rotate(compromised=options.compromised, dry_run=options.dry_run))
        return OK


def _show(facts: dict[str, Any], output: str) -> int:
    from .work import as_text

    if output == "json":
        write_stdout(encode_json(facts, orjson.OPT_INDENT_2) + "\n")
    else:
        write_stdout(as_text(facts))
    return OK if facts["ready"] else REFUSED
