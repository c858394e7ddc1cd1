"""The pages of a pasted message: the rules that it names, else those that say its sentences, and the API server's words around them."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ....api.kinds import list_kind_versions
from ....api.line import Line
from ....api.schema import load_schema
from ....policies.catalogue import find_rule
from ....policies.checks import CEL_RULE, SCHEMA_RULE, WRONG_TYPE
from ....policies.rule import Rule
from ...userrules.export import ITEMS, VALUES, schema_rules
from ...yaml.load import load_documents
from . import field, rule
from .field import Page
from .sentence import PATH, rules_saying

# between the causes of one refusal: our own joint, kubectl's bullets, the API server's list
_JOINTS: Final = re.compile(r"; (?=\S+: )|\n\s*\* |\], \[|, (?=(?:spec|metadata)[.\[])")
_FIELDS: Final = 3  # that are pointed out
_LONGEST: Final = 20_000  # characters that are looked at: a message, not a log


class Words(NamedTuple):
    """A message that no rule writes, of known_messages.yaml, and the pattern that recognises it, ignoring case."""

    name: str
    shown: str  # with dots for variable parts
    pattern: str
    meaning: str
    remedy: str
    rule: Rule | None  # the rule with which `check` finds the same

    @property
    def page(self) -> Page:
        """The page of this message."""
        rules = field.short([] if self.rule is None else [self.rule])
        return {"message": self.name, "words": self.shown, "meaning": self.meaning, "remedy": self.remedy, "rules": rules, "fields": []}


@cache
def tables() -> dict[str, tuple[Words, ...]]:
    """The messages by who says them: `transport` on the way to the webhooks, `server` about the object, and `ours`."""
    [document] = load_documents(Path(__file__).with_name("known_messages.yaml").read_text("utf-8"))
    return {
        who: tuple(Words(**{**entry, "rule": find_rule(entry.get("rule", ""))}) for entry in entries)
        for who, entries in document.data.items()
    }


def _known(text: str) -> Iterator[Words]:
    """The known messages in a text; only those of the transport if there are any, because the object wasn't judged then."""
    for who, table in tables().items():
        found = [words for words in table if re.search(words.pattern, text, re.IGNORECASE | re.DOTALL)]
        yield from found
        if found and who == "transport":
            return


def markdown(page: Page) -> str:
    """The page as Markdown."""
    parts = [f"# {page['words']}", page["meaning"], f"**Fix.** {page['remedy']}"]
    parts += [f"`dynamo-webhooks explain '{path}'` shows its allowed values." for path in page["fields"]]
    parts += [f"`check` reports it as `{same['rule']}` ({same['code']})." for same in page["rules"]]
    return "\n\n".join(parts) + "\n"


def find(text: str) -> list[Page]:
    """The pages, each once, in the order of the message; empty for a text that says nothing we know."""
    text = text[:_LONGEST]
    named = (SCHEMA_RULE, WRONG_TYPE)  # whose fields are pointed out
    around = [{**one.page, "fields": _fields(text)} if one.rule in named else one.page for one in _known(text)]
    broken = find_broken_rule(text)
    if broken is not None:
        # a broken rule of the schema reads like any other value that it refuses
        around = [broken, *(page for page in around if page["message"] != "schema-mismatch")]
    known = rule.in_message(text)
    if not known and not around:
        said = {found.name: found for part in _parts(text) for found in rules_saying(part)}
        known = [rule.page(found) for found in said.values()]
    return [*known, *around]


def _fields(text: str) -> list[str]:
    """The first fields of our kinds that a text names."""
    named = dict.fromkeys(found.rstrip(".") for found in PATH.findall(text))
    return [path for path in named if field.find(path) is not None][:_FIELDS]


def _parts(text: str) -> Iterator[str]:
    """A message cause by cause, each with the lead that names the kind."""
    lead = text.partition("is invalid:")[0] if "is invalid:" in text else ""
    for part in _JOINTS.split(text):
        yield part if part.startswith(lead) else f"{lead}is invalid: {part}"


_SHOWN: Final = 4  # places of one sentence; several kinds share a block


def find_broken_rule(text: str) -> Page | None:
    """The page of the schema's longest rule message that a text contains; None if it contains none."""
    said = " ".join(text.split())
    found = max((sentence for sentence in _sentences() if sentence in said), key=len, default=None)
    if found is None:
        return None
    places = _sentences()[found]
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return {
        "message": CEL_RULE.name,
        "words": found,
        "meaning": f"A rule of the definition, which the API server evaluates itself. It applies to {', '.join(places[:_SHOWN])}{more}.",
        "remedy": "Write the object so that the sentence holds.",
        "rules": field.short([CEL_RULE]),
        "fields": [],
    }


@cache
def _sentences() -> dict[str, list[str]]:
    """Every rule message of any line with its places, as `Kind/version path`."""
    found: dict[str, list[str]] = {}
    for kind, version in list_kind_versions():
        rules = [one for line in Line for one in schema_rules(load_schema(kind, version, line))]
        for path, sentence in dict.fromkeys((path, stated["message"]) for path, stated in rules if "message" in stated):
            shown = ".".join("*" if step in (ITEMS, VALUES) else step for step in path)
            found.setdefault(sentence, []).append(f"{kind}/{version} `{shown or '.'}`")
    return found
