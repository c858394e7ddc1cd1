"""Reads the examples in the doc strings of rules: the merge over a base object, the marks, and the directives."""

import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

from dynamo_webhooks.api.line import OLDEST
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.facts import Facts, facts_from
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review

_BASE = Path(__file__).parents[2] / "policies" / "examples" / "base.yaml"
_MARK = re.compile(r"#\s*expect(?::\s*(?P<names>[a-z0-9, -]+))?\s*$")
_DIRECTIVE = re.compile(r"^#\s*(?P<word>facts|user|kind|op):\s*(?P<text>.+)$")
BECOMES = re.compile(r"^---\s*#\s*becomes\s*$", re.MULTILINE)


@cache
def base() -> dict[str, Any]:
    """The base objects by kind and version, and the base facts under `facts`."""
    loaded: dict[str, Any] = yaml.safe_load(_BASE.read_text())
    return loaded


@dataclass
class Example:
    """One block: the review it makes, the text that holds the marks, and the marked lines (1-based) with rule names."""

    kind: str
    text: str
    old_text: str | None
    facts: Facts
    user: str
    operation: str
    marks: dict[int, set[str]] = field(default_factory=dict)

    @cached_property
    def fragment(self) -> Any:
        """The new object's fragment as written."""
        return yaml.safe_load(self.text)

    @property
    def object(self) -> dict[str, Any]:
        """The new object, merged over the base."""
        return merged(self.kind, self.fragment)

    def review(self) -> Review:
        """The question that the example asks."""
        old = merged(self.kind, yaml.safe_load(self.old_text)) if self.old_text is not None else None
        return Review(self.kind, self.operation, self.object, old, user=self.user, facts=self.facts)


def merged(kind: str, fragment: Any) -> dict[str, Any]:
    """Merges a fragment over the base object of its kind; `services` and lists replace what the base has."""
    both: dict[str, Any] = _merge(base()[kind], fragment or {})
    return both


def _merge(under: Any, over: Any) -> Any:
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    out = dict(under)
    for key, value in over.items():
        out[key] = value if key == "services" else _merge(under.get(key), value)
    return out


def parse(block: str, kind: str, rule: str) -> Example:
    """Splits a block into directives, the old and the new text, and marks."""
    directives = {m["word"]: m["text"] for line in block.split("\n") if (m := _DIRECTIVE.match(line.strip()))}
    parts = BECOMES.split(block)
    record = find_rule(rule)
    line = {"operatorLine": record.lines[0]} if record is not None and OLDEST not in record.lines else {}  # where the rule is asked
    facts = facts_from({**base()["facts"], **line, **yaml.safe_load(directives.get("facts", "{}"))})
    text = parts[-1]
    example = Example(
        kind=directives.get("kind", kind).strip(),
        text=text,
        old_text=parts[0] if len(parts) > 1 else None,
        facts=facts,
        user=directives.get("user", "jane").strip(),
        operation=directives.get("op", UPDATE if len(parts) > 1 else CREATE).strip(),
    )
    for number, line in enumerate(text.split("\n"), start=1):
        if mark := _MARK.search(line):
            example.marks[number] = {name.strip() for name in (mark["names"] or rule).split(",")}
    return example
