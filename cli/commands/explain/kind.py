"""The page of a whole kind: its versions, its parts, and the rules that look at it."""

from typing import Any

from ....api.kinds import BY_NAME, GROUP, Kind
from ....api.line import USUAL, Line
from ....api.schema import load_schema
from ....policies.catalogue import list_rules
from ...console.flags import find_kind
from .field import format_list, format_rules, short

Page = dict[str, Any]


def find(word: str) -> Page | None:
    """The page of the kind that a word names in any way; None when it names none."""
    plain = word.strip().removesuffix(f".{GROUP}")
    name = find_kind(plain) if "." not in plain else None
    return None if name is None else page(name)


def page(name: str) -> Page:
    """Everything about one kind as data."""
    kind = BY_NAME[name]
    return {
        "kind": name,
        "group": GROUP,
        "plural": kind.plural,
        "shortName": kind.short,
        "versions": [
            {"name": one.name, "stored": USUAL in (lines := _lines(kind, one.name)), "storedOn": lines, "deprecated": one.deprecated}
            for one in kind.versions
        ],
        "description": load_schema(name, kind.storage_version).get("description", ""),
        "rules": short(rule for rule in list_rules() if any(read.startswith(f"{name}/") for read in rule.kinds)),
    }


def markdown(page: Page) -> str:
    """The page for people."""
    versions = ", ".join(one["name"] + _mark(one["storedOn"]) for one in page["versions"])
    about = f"Versions of `{page['group']}`: {versions}. Plural `{page['plural']}`, short name `{page['shortName']}`."
    more = f"`dynamo-webhooks explain {page['shortName']}.spec` lists its fields."
    if len(page["versions"]) > 1:
        more += f" `dynamo-webhooks convert --fields {page['kind']}` shows which is which in the other version."
    looking = format_list("Rules that look at it or at what holds it:", format_rules(page["rules"]))
    return "\n\n".join(part for part in (f"# {page['kind']}", page["description"], about, more, looking) if part) + "\n"


def _lines(kind: Kind, version: str) -> list[str]:
    """The lines whose definitions keep the objects in a version."""
    return [str(line) for line in Line if kind.stored(line) == version]


def _mark(lines: list[str]) -> str:
    always = " (stored)" if len(lines) == len(Line) else ""
    return always or (f" (stored on lines {lines[0]} to {lines[-1]})" if lines else "")
