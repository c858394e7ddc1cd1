"""Finds the rule of a CustomResourceDefinition with a given message, and its fields."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from ....api.kinds import list_kind_versions
from ....api.line import Line
from ....api.schema import Node, load_schema, resolve
from ....policies.checks import CEL_RULE

_SHOWN: Final = 4  # places of one sentence; several kinds share a block
_DEEPEST: Final = 24  # steps: schemas of Kubernetes' own types refer to each other


def in_message(text: str) -> dict[str, Any] | None:
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
        "rules": [{"rule": CEL_RULE.name, "code": CEL_RULE.code, "title": CEL_RULE.title}],
        "fields": [],
    }


@cache
def _sentences() -> dict[str, list[str]]:
    """Every rule message of any line with its places, as `Kind/version path`."""
    found: dict[str, list[str]] = {}
    for kind, version in list_kind_versions():
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
