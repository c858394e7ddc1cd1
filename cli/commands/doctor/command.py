"""`doctor`: checks an installation, tries it with dry-run requests, and suggests repairs."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from ....kube.errors import ApiError
from ...console.escaping import escape_document
from ...console.exits import OK, REFUSED, UNREACHABLE, UsageError
from ...console.output import write_stderr, write_stdout
from ...installation.connection import connect_cluster
from .finding import DoctorFinding, Level, as_data, as_text, sort_findings, warning
from .options import Options

if TYPE_CHECKING:
    from ....api.line import Line
    from ....certs.installation import Installation
    from ....kube.protocol import Cluster
    from ....kube.storage_versions import Opener

HELP: Final = "inspect an installation: conversion, trust, certificates, servers and dry-run requests"
_CLIENT: Final = "dynamo-webhooks-doctor"
_API_SERVER_TIMEOUT_SECONDS: Final = 5.0  # by its own address, which can't be reached from everywhere


def run(options: Options) -> int:
    """1 when something is an error, 6 when the cluster can't be reached. Raises: UsageError for a wrong configuration."""
    try:
        if options.print:
            write_stdout(asyncio.run(_printed(options)))
            return OK
        examined = asyncio.run(_examine(options))
    except ApiError as error:
        write_stderr(f"the cluster can't be read: {error.message}")
        return UNREACHABLE
    from .repairs import add_connection_flags

    findings = sort_findings(
        [replace(each, repair=add_connection_flags(each.repair, options.kubeconfig, options.context)) for each in examined]
    )
    write_stdout(escape_document(json.dumps(as_data(findings), indent=2)) + "\n" if options.output == "json" else as_text(findings))
    return REFUSED if any(each.level is Level.ERROR for each in findings) else OK


async def _examine(options: Options) -> list[DoctorFinding]:
    connect = partial(connect_cluster, _CLIENT, options.kubeconfig, options.context)
    async with connect() as cluster:
        return await examine(
            cluster,
            options.namespace,
            options.config,
            removing=options.uninstall_check,
            lenient=options.lenient_config,
            opener=partial(connect, patience=_API_SERVER_TIMEOUT_SECONDS),
            upgrade_to=options.upgrade_to,
        )


async def _printed(options: Options) -> str:
    """One object of the installation as YAML. Raises: ApiError, UsageError."""
    from ...installation.parts import read_parts
    from ...rewrite.emit import emit_yaml

    kind, _, name = options.print.partition("/")
    async with connect_cluster(_CLIENT, options.kubeconfig, options.context) as cluster:
        place, _ = await _installed(cluster, options.namespace, options.config, lenient=options.lenient_config)
        parts = await read_parts(cluster, place)
    if (key := parts.find(kind, name)) is None:
        known = ", ".join(sorted(f"{each[0]}/{each[2]}" for each in parts.wanted)) or "none, because it has names of its own"
        raise UsageError(f'--print: must be an object of the installation, got "{options.print}"; known are {known}')
    return emit_yaml(parts.printed(key))


async def _installed(cluster: Cluster, namespace: str, config: str | None, *, lenient: bool) -> tuple[Installation, list[DoctorFinding]]:
    """The installation of a configuration, and the errors in that. Raises: ApiError, UsageError."""
    from ...installation import names

    if config is not None:
        (place, wrong), what = names.load_installation(config, namespace, lenient=lenient), config
    else:
        place, wrong = await names.find_installation(cluster, namespace, lenient=lenient)
        what = f"ConfigMap {place.profile.namespace}/{names.CONFIG}"
    return place, [warning("configuration", what, wrong)] if wrong else []


async def examine(
    cluster: Cluster,
    namespace: str,
    config: str | None,
    *,
    removing: bool,
    lenient: bool = False,
    opener: Opener | None = None,
    upgrade_to: Line | None = None,
) -> list[DoctorFinding]:
    """All findings, in the order of the checks; `opener` connects to one of several API servers. Raises: ApiError, UsageError."""
    from ....api.line import decide_line
    from . import certificates, definitions, storage, workloads
    from .dry_run import try_requests
    from .neighbours import check_neighbours
    from .observe import observe_installation
    from .others import find_other_operators
    from .policies import check_policies
    from .rights import check_permissions

    place, findings = await _installed(cluster, namespace, config, lenient=lenient)
    view = await observe_installation(cluster, place)
    findings += [warning("permission", what, f"can't be read: {why}") for what, why in view.forbidden.items()]
    if removing:
        return [*findings, *await storage.check_removal(cluster, view)]
    checks = (
        certificates.check_endpoints,
        certificates.check_provisioner,
        certificates.check_reconciler,
        definitions.check_kinds,
        definitions.check_lines,
        definitions.check_configurations,
        definitions.check_new_pods,
        storage.check_versions,
        certificates.check_secrets,
        certificates.check_trust,
        certificates.check_rotation,
        definitions.check_guard,
        certificates.check_scope,
    )
    running = await workloads.NamespaceState().read(cluster, view.namespace)
    findings += workloads.report_unread((view.parts.forbidden, running.forbidden))
    findings += [*workloads.check_workloads(view.parts, running), *workloads.check_selectors(view, view.parts, running)]
    findings += [each for check in checks for each in check(view)]
    missing = {str(kind): name for kind, name in place.targets if view.configurations.get(kind, {}) is None}
    restore = {kind: view.parts.restore(kind, name) for kind, name in {"Service": place.profile.service, **missing}.items()}
    line = decide_line(place.version, view.line)
    asking = [
        check_permissions(cluster, place, view.parts),
        find_other_operators(cluster, view, view.parts),
        check_policies(cluster, view.parts, line),
    ]
    asking += [storage.check_contents(cluster, view)]
    asking += [storage.check_servers(cluster, opener, view)] if opener else []
    asking += [check_neighbours(cluster, view, upgrade_to)] if upgrade_to is not None else []
    answers = await asyncio.gather(*asking, try_requests(cluster, view.namespace, view.claims, restore))
    return [*findings, *(each for answer in answers for each in answer)]
