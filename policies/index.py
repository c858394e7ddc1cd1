"""The index of all rules: what each declares, so that a command that starts often need not import them all. It is written by
`python -m tools.rule_index` and used only while it fits the modules beside it."""

import json
import os
from typing import Any, Final

from ..api.line import Line
from .finding import Level
from .modules import FOLDERS
from .rule import Difference, Rule, Stage

_HERE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer to import than this to run
FILE: Final = f"{_HERE}/index.json"


def load_index() -> list[Rule] | None:
    """The rules of the index, whose functions are loaded on first use; None when the index is out of date."""
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
            "difference": Difference(tuple(difference[0]), *difference[1:]) if difference else None,
        }
    )
