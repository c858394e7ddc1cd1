"""Messages of the API server, kubectl and the webhook server that no rule writes, with meaning and remedy: known_messages.yaml."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ....policies.catalogue import find_rule
from ....policies.rule import Rule
from ...yaml.load import load_documents


class Words(NamedTuple):
    """A pattern that recognises a message, ignoring case."""

    name: str
    shown: str  # with dots for variable parts
    pattern: str
    meaning: str
    remedy: str
    rule: Rule | None  # the rule with which `check` finds the same

    @property
    def page(self) -> dict[str, Any]:
        """The page of this message."""
        rules = [] if self.rule is None else [{"rule": self.rule.name, "code": self.rule.code, "title": self.rule.title}]
        return {"message": self.name, "words": self.shown, "meaning": self.meaning, "remedy": self.remedy, "rules": rules, "fields": []}


@cache
def tables() -> dict[str, tuple[Words, ...]]:
    """The messages by who says them: `transport` on the way to the webhooks, `server` about the object, and `ours`."""
    [document] = load_documents(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return {
        who: tuple(Words(**{**entry, "rule": find_rule(entry.get("rule", ""))}) for entry in entries)
        for who, entries in document.data.items()
    }


def in_message(text: str) -> Iterator[Words]:
    """The known messages in a text; only those of the transport if there are any, because the object wasn't judged then."""
    for who, table in tables().items():
        found = [words for words in table if re.search(words.pattern, text, re.IGNORECASE | re.DOTALL)]
        yield from found
        if found and who == "transport":
            return


def markdown(page: dict[str, Any]) -> str:
    """The page as Markdown."""
    parts = [f"# {page['words']}", page["meaning"], f"**Fix.** {page['remedy']}"]
    parts += [f"`dynamo-webhooks explain '{field}'` shows its allowed values." for field in page["fields"]]
    parts += [f"`check` reports it as `{rule['rule']}` ({rule['code']})." for rule in page["rules"]]
    return "\n\n".join(parts) + "\n"
