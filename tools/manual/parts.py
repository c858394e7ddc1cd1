"""The generated tables in hand-written pages: messages and facts, as `explain` has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from dynamo_webhooks.cli.explain import fact
from dynamo_webhooks.cli.explain.words import OURS, SERVER, TRANSPORT, Words
from dynamo_webhooks.policies.facts import Facts


def _table(entries: tuple[Words, ...]) -> str:
    rows = [f"| `{entry.shown}` | {entry.meaning} | {entry.remedy} |" for entry in entries]
    return "\n".join(["| message | meaning | what to do |", "| --- | --- | --- |", *rows])


def _facts() -> str:
    rows = []
    for page in map(fact.page, Facts._fields):
        asked = ", ".join(f"[`{rule['rule']}`](rules/{rule['rule']}.md)" for rule in page["rules"])
        rows.append(f"| `{page['fact']}` | {page['description'].removesuffix('; null: not known.')} | {asked} |")
    return "\n".join(["| fact | meaning | rules that need it |", "| --- | --- | --- |", *rows])


# name of a generated part -> its writer
PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "transport": partial(_table, TRANSPORT),
    "server": partial(_table, SERVER),
    "ours": partial(_table, OURS),
    "facts": _facts,
}
