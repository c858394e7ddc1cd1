"""The index of all rules: what each declares, so that a command that starts often need not import them all. It is written by
`python -m tools.rule_index` and used only while it fits the modules beside it."""

from __future__ import annotations

import json
import os
from typing import Any, Final

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.modules import FOLDERS
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import Difference, Rule

_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer to import than this to run
FILE: Final = f"{_HERE}/index.json"


def indexed() -> list[Rule] | None:
    """The rules as the index has them, each without its function until somebody asks; None where it fits the modules no longer."""
    try:
        with open(FILE, "rb") as file:  # noqa: PTH123 - as above
            index: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        return None
    return [_rule(row) for row in index["rules"]] if index["modules"] == modules() else None


def modules() -> dict[str, int]:
    """Every module of the policies with its size: cheap to know, and a change that keeps all sizes is found when a rule is asked."""
    found = {}
    for folder in ("", *(f"{name}/" for name in FOLDERS)):
        with os.scandir(f"{_HERE}/{folder}") as entries:
            found.update({folder + entry.name: entry.stat().st_size for entry in entries if entry.name.endswith(".py")})
    return found


def _rule(row: dict[str, Any]) -> Rule:
    difference = row["difference"]
    return Rule(
        **{
            **row,
            "when": tuple(row["when"]),
            "on": frozenset(row["on"]),
            "needs": tuple(row["needs"]),
            "level": Level(row["level"]),
            "stage": Stage(row["stage"]),
            "since": Line(row["since"]) if row["since"] else None,
            "until": Line(row["until"]) if row["until"] else None,
            "difference": Difference(tuple(difference[0]), difference[1]) if difference else None,
        }
    )
