"""Waits until every API server stores new writes in the version: a definition reaches each of them at its own time."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.kube.errors import ApiError, ForbiddenError, UnavailableError
from dynamo_webhooks.kube.storage_versions import TRIES, Seen, load_api_servers, seen_hash, storage_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynamo_webhooks.cli.migrate.options import Hands
    from dynamo_webhooks.cli.migrate.report import Report
    from dynamo_webhooks.kube.storage_versions import Definition

PAUSE: Final = 1.0  # seconds between two looks
_TELL: Final = 5.0  # seconds of waiting after which it is told


async def agreed(hands: Hands, definitions: Sequence[Definition], report: Report) -> float:
    """The moment (monotonic) at which all servers were seen to store all kinds in the version.

    Raises: UnavailableError when they do not within the run's patience; Stopped.
    """
    began, told, deaf = monotonic(), False, set[str]()
    while True:
        pending = await _pending(hands, definitions, deaf, report)
        now = monotonic()
        if not pending:
            return now
        if now - began > hands.options.patience:
            raise UnavailableError(0, "", f"API servers must store new writes in {hands.options.to}, and do not: {pending}")
        if now - began > _TELL and not told:
            told = True
            hands.say(f"waiting for API servers: {pending}")
        await hands.sleep(PAUSE)


async def _pending(hands: Hands, definitions: Sequence[Definition], deaf: set[str], report: Report) -> str:
    """The first server that is not there yet; empty when all are. Asks each once, and those that can't be asked never again."""
    group, to = definitions[0].group, hands.options.to
    wanted = {each.plural: storage_hash(each.group, to, each.kind) for each in definitions}
    servers = [each for each in hands.options.servers or await _servers(hands, report) if each not in deaf]
    for server in servers:
        one = await seen_hash(hands.opener, server, group, to)
        if one.wrong:
            deaf.add(server)
            text = f"the API server {server} can't be asked by itself, and is asked through the usual address: {one.wrong}"
            report.warnings.append(text)
        elif text := _behind(one, wanted):
            return text
    for _ in range(TRIES if deaf or not servers else 0):
        if text := _behind(await seen_hash(hands.opener, "", group, to), wanted):
            return text
    return ""


async def _servers(hands: Hands, report: Report) -> list[str]:
    try:
        return await load_api_servers(hands.cluster)
    except ForbiddenError as error:
        text = f"API servers can't be listed, and are asked through the usual address: {error.message}"
        if text not in report.warnings:
            report.warnings.append(text)
    except ApiError as error:
        hands.say(f"API servers can't be listed now: {error.message}")
    return []


def _behind(one: Seen, wanted: dict[str, str]) -> str:
    where = one.server or "the usual address"
    if one.wrong:
        return one.wrong
    behind = [plural for plural, text in wanted.items() if one.hashes.get(plural) != text]
    return f"{where} has not taken over the definition of {' and '.join(behind)}" if behind else ""
