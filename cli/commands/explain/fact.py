"""The page of a fact: its meaning, how to give it, and the rules that need it."""

from typing import Any

from ....policies.catalogue import list_rules
from ....policies.facts import Facts
from ..schema.outputs import load
from .field import format_list, format_rules, short

Page = dict[str, Any]


def find(word: str) -> Page | None:
    """The page of the fact with that name, in any case of letters; None when there is none."""
    name = next((name for name in Facts._fields if name.lower() == word.strip().lower()), None)
    return None if name is None else page(name)


def page(name: str) -> Page:
    """Everything about one fact as data."""
    described: str = load("facts")["properties"][name]["description"]
    return {"fact": name, "description": described, "rules": short(rule for rule in list_rules() if name in rule.needs)}


def markdown(page: Page) -> str:
    """The page for people."""
    give = "`--facts FILE` gives it, or `--set-fact NAME=VALUE`; `dynamo-webhooks facts --cluster -o FILE` collects all facts of a cluster."
    unknown = "While it is not known, `check` lists these rules as not evaluated, and a server refuses what they would have to judge:"
    parts = (f"# {page['fact']} (a fact)", page["description"], give, format_list(unknown, format_rules(page["rules"])))
    return "\n\n".join(part for part in parts if part) + "\n"
