"""The pages of a whole kind and of a fact: what they are, and the rules that look at them."""

from ....api.kinds import BY_NAME, GROUP
from ....api.line import DEFAULT_LINE, NEWEST, Line
from ....api.schema import load_schema
from ....policies.catalogue import list_rules
from ....policies.facts import Facts
from ...console.kind_names import find_kind
from ..schema.outputs import load
from .field import Page, format_list, format_rules, summarize_rules


def find(word: str) -> Page | None:
    """The page of the kind that a word names in any way; None when it names none."""
    plain = word.strip().removesuffix(f".{GROUP}")
    name = find_kind(plain) if "." not in plain else None
    if name is None:
        return None
    kind = BY_NAME[name]
    stored = {version.name: [str(line) for line in Line if kind.stored(line) == version.name] for version in kind.of_line(NEWEST)}
    return {
        "kind": name,
        "group": GROUP,
        "plural": kind.plural,
        "shortName": kind.short,
        "versions": [
            {
                "name": version.name,
                "stored": DEFAULT_LINE in stored[version.name],
                "storedOn": stored[version.name],
                "deprecated": version.deprecated,
            }
            for version in kind.of_line(NEWEST)
        ],
        "description": load_schema(name, kind.storage_version, DEFAULT_LINE).get("description", ""),
        "rules": summarize_rules(rule for rule in list_rules() if any(read.startswith(f"{name}/") for read in rule.kinds)),
    }


def markdown(page: Page) -> str:
    """The page for people."""
    versions = ", ".join(version["name"] + _mark(version["storedOn"]) for version in page["versions"])
    about = f"Versions of `{page['group']}`: {versions}. Plural `{page['plural']}`, short name `{page['shortName']}`."
    more = f"`dynamo-webhooks explain {page['shortName']}.spec` lists its fields."
    if len(page["versions"]) > 1:
        more += f" `dynamo-webhooks convert --fields {page['kind']}` shows which is which in the other version."
    looking = format_list("Rules that check it:", format_rules(page["rules"]))
    return "\n\n".join(part for part in (f"# {page['kind']}", page["description"], about, more, looking) if part) + "\n"


def _mark(lines: list[str]) -> str:
    always = " (stored)" if len(lines) == len(Line) else ""
    return always or (f" (stored by operator {lines[0]} to {lines[-1]})" if lines else "")


def find_fact(word: str) -> Page | None:
    """The page of the fact with that name, in any case of letters; None when there is none."""
    name = next((name for name in Facts._fields if name.lower() == word.strip().lower()), None)
    return None if name is None else describe_fact(name)


def describe_fact(name: str) -> Page:
    """Everything about one fact as data."""
    described: str = load("facts")["properties"][name]["description"]
    return {"fact": name, "description": described, "rules": summarize_rules(rule for rule in list_rules() if name in rule.needs)}


def fact_markdown(page: Page) -> str:
    """The page of a fact for people."""
    give = "`--facts FILE` gives it, or `--set-fact NAME=VALUE`; `dynamo-webhooks facts --cluster -o FILE` collects all facts of a cluster."
    unknown = "While it is unknown, `check` lists these rules as not evaluated, and a server refuses objects that need them:"
    parts = (f"# {page['fact']} (a fact)", page["description"], give, format_list(unknown, format_rules(page["rules"])))
    return "\n\n".join(part for part in parts if part) + "\n"
