"""Waits until every API server stores new writes in the version: a definition reaches each of them at its own time."""

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import Final

from ....kube.errors import ApiError, ForbiddenError, UnavailableError
from ....kube.storage_versions import TRIES, Definition, Seen, load_api_servers, read_storage_hash, storage_hash
from .options import Hands
from .report import Report

PAUSE: Final = 1.0  # seconds between two looks
_TELL: Final = 5.0  # seconds of waiting before it is reported


async def wait_for_agreement(hands: Hands, definitions: Sequence[Definition], report: Report) -> float:
    """The moment (monotonic) at which all servers were seen to store all kinds in the version.

    Once one API server has answered at its own address, every one must: one that hangs may still write as before. It is waited for until it
    answers or leaves the list. Where none answers so, as from outside of a cluster, the usual address is asked again and again.
    Raises: UnavailableError when they do not within the run's patience; Stopped.
    """
    began, told, near = monotonic(), False, bool(hands.options.servers)
    while True:
        servers = [*hands.options.servers] or await _servers(hands, report)
        group, to = definitions[0].group, hands.options.to
        seen = [*await asyncio.gather(*(read_storage_hash(hands.opener, each, group, to) for each in servers))]
        near = near or any(not one.wrong for one in seen)
        if not near:
            _warn(report, seen)
        pending = _pending(definitions, to, seen) if near else await _through_the_usual_address(hands, definitions)
        now = monotonic()
        if not pending:
            return now
        if now - began > hands.options.patience:
            raise UnavailableError(0, "", f"API servers must store new writes in {hands.options.to}, and do not: {pending}")
        if now - began > _TELL and not told:
            told = True
            hands.say(f"waiting for API servers: {pending}")
        await hands.sleep(PAUSE)


async def _through_the_usual_address(hands: Hands, definitions: Sequence[Definition]) -> str:
    """The first answer by which a server is not there yet; empty when there is none."""
    for _ in range(TRIES):
        seen = await read_storage_hash(hands.opener, "", definitions[0].group, hands.options.to)
        if text := _pending(definitions, hands.options.to, [seen]):
            return text
    return ""


def _pending(definitions: Sequence[Definition], to: str, seen: Sequence[Seen]) -> str:
    """Which server is not there yet; empty when all are."""
    wanted = {each.plural: storage_hash(each.group, to, each.kind) for each in definitions}
    return next((text for one in seen if (text := _behind(one, wanted))), "" if seen else "none is listed")


def _warn(report: Report, seen: Sequence[Seen]) -> None:
    for one in seen:
        if not any(one.server in each for each in report.warnings):
            text = f"the API server {one.server} can't be asked by itself, and is asked through the usual address: {one.wrong}"
            report.warnings.append(text)


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
