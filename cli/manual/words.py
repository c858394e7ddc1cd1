"""The tables of messages in pages: what an API server says around our webhooks, from the entries that `explain` knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from cli.explain.words import OURS, SERVER, TRANSPORT, Words


def _table(entries: tuple[Words, ...]) -> str:
    rows = [f"| `{entry.shown}` | {entry.meaning} | {entry.remedy} |" for entry in entries]
    return "\n".join(["| words | meaning | what to do |", "| --- | --- | --- |", *rows])


# name of a made part -> who writes it
PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "transport": partial(_table, TRANSPORT),
    "server": partial(_table, SERVER),
    "ours": partial(_table, OURS),
}
