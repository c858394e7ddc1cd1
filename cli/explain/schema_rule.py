"""Finds the rule of a CustomResourceDefinition that said a sentence, and tells at which fields it stands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from dynamo_webhooks.api.kinds import pairs
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import Node, load_schema, resolve
from dynamo_webhooks.cli.check.record import CEL_RULE

_SHOWN: Final = 4  # places of one sentence; the same block stands in several kinds
_DEEPEST: Final = 24  # steps: schemas of Kubernetes' own types refer to each other


def in_message(text: str) -> dict[str, Any] | None:
    """The page of the longest sentence of a schema's rule that stands in a message; None when none does."""
    said = " ".join(text.split())
    found = max((sentence for sentence in _sentences() if sentence in said), key=len, default=None)
    if found is None:
        return None
    places = _sentences()[found]
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return {
        "message": CEL_RULE.name,
        "words": found,
        "meaning": f"A rule of the definition, which the API server asks itself. It stands at {', '.join(places[:_SHOWN])}{more}.",
        "remedy": "Write the object so that the sentence holds.",
        "rules": [{"rule": CEL_RULE.name, "code": CEL_RULE.code, "title": CEL_RULE.title}],
        "fields": [],
    }


@cache
def _sentences() -> dict[str, list[str]]:
    """Every sentence of any line with the places where it stands, as `Kind/version path`."""
    found: dict[str, list[str]] = {}
    for kind, version in pairs():
        said = {(path, sentence): None for line in Line for path, sentence in _walk(load_schema(kind, version, line), ())}
        for path, sentence in said:
            found.setdefault(sentence, []).append(f"{kind}/{version} `{'.'.join(path) or '.'}`")
    return found


def _walk(node: Node, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    node = resolve(node)
    for rule in node.get("x-kubernetes-validations", ()):
        if "message" in rule:
            yield path, rule["message"]
    if len(path) > _DEEPEST:
        return
    for name, below in (node.get("properties") or {}).items():
        yield from _walk(below, (*path, name))
    for entry in (node.get("items"), node.get("additionalProperties")):
        if isinstance(entry, dict):
            yield from _walk(entry, (*path, "*"))
