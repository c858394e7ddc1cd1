"""The page of a field path or of a whole kind: what the schema says of it, and which rules look at it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import CodeType
from typing import Any, Final

from api.kinds import BY_NAME, GROUP, KINDS
from api.schema import Node, load_schema, resolve
from cli.kinds import find_kind
from policies.catalogue import rules
from policies.review import CURRENT
from policies.rule import Rule

_STEP: Final = re.compile(r"\[([^\]]*)\]|\.?([^.\[\]]+)")
WILD: Final = "*"

Page = dict[str, Any]
Steps = tuple[str, ...]


def find(word: str) -> Page | None:
    """The page of a kind, or of a field path that some kind has; None when there is no such thing.

    A path may begin with a kind (`dgd.spec.services`); map keys and indices may be written in brackets, as names, or as `*`.
    """
    steps: Steps = tuple(key or name for key, name in _STEP.findall(word.strip().removesuffix(f".{GROUP}")))
    if not steps or any(not step for step in steps):
        return None
    kind = find_kind(steps[0])
    if kind is not None:
        return _page(word, kind, steps[1:]) if len(steps) > 1 else _kind_page(kind)
    return _page(word, None, steps)


def _page(word: str, only: str | None, steps: Steps) -> Page | None:
    places = [place for kind, version in _versions(only) if (place := _place(kind, version, steps)) is not None]
    return {"field": word.strip(), "places": places} if places else None


def _versions(only: str | None) -> Iterator[tuple[str, str]]:
    for kind in KINDS:
        if only in (None, kind.name):
            for version in kind.versions:
                yield kind.name, version.name


def _place(kind: str, version: str, steps: Steps) -> Page | None:
    found = _walk(load_schema(kind, version), steps)
    if found is None:
        return None
    node, path = found
    return {
        "kind": f"{kind}/{version}",
        "path": ".".join(path),
        "type": _type(node),
        "description": node.get("description", ""),
        "default": node.get("default"),
        "allowed": node.get("enum", []),
        "fields": sorted(node.get("properties") or {}),
        "rules": _names(rule for rule in rules(CURRENT) if _reads(rule, f"{kind}/{version}", path)),
    }


def _walk(schema: Node, steps: Steps) -> tuple[Node, Steps] | None:
    """Steps through a schema; keys and indices come out as `*`."""
    node, path = resolve(schema), []
    for step in steps:
        properties = node.get("properties") or {}
        entry = node.get("items") or node.get("additionalProperties")
        if step in properties:
            node = resolve(properties[step])
            path.append(step)
        elif isinstance(entry, dict):
            node = resolve(entry)
            path.append(WILD)
        else:
            return None
    return node, tuple(path)


def _type(node: Node) -> str:
    if node.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if isinstance(node.get("additionalProperties"), dict):
        return "map"
    return str(node.get("type", "any"))


def _reads(rule: Rule, kind: str, path: Steps) -> bool:
    """Whether a rule looks at a place, below it, or at a block that holds it: a rule reads much through definitions it shares."""
    if kind not in rule.where:
        return False
    at: Steps = tuple(step for step in rule.where[kind].split(".") if step)
    if path == at[: len(path)]:
        return True
    if path[: len(at)] != at:
        return False
    rest = path[len(at) :]
    wakes = {field.partition("=")[0] for field in rule.when}
    return rest[0] in wakes or _named(rule.check.__code__, rest)


def _named(code: CodeType, rest: Steps) -> bool:
    """Whether the code of a rule names every step of a relative path, alone or in dotted text."""
    words = set(_words(code))
    return all(step in words for step in rest if step != WILD)


def _words(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield from constant.split(".")
        elif isinstance(constant, tuple):
            yield from (item for item in constant if isinstance(item, str))
        elif isinstance(constant, CodeType):
            yield from _words(constant)


def _names(found: Iterator[Rule]) -> list[dict[str, str]]:
    return [{"rule": rule.name, "code": rule.code, "title": rule.title} for rule in found]


def _kind_page(name: str) -> Page:
    kind = BY_NAME[name]
    return {
        "kind": name,
        "group": GROUP,
        "plural": kind.plural,
        "shortName": kind.short,
        "versions": [{"name": v.name, "stored": v.storage, "deprecated": v.deprecated} for v in kind.versions],
        "description": load_schema(name, kind.storage_version).get("description", ""),
        "rules": _names(rule for rule in rules(CURRENT) if any(read.startswith(f"{name}/") for read in rule.kinds)),
    }


def markdown(page: Page) -> str:
    """The page for people."""
    if "kind" in page:
        versions = ", ".join(v["name"] + (" (stored)" if v["stored"] else "") for v in page["versions"])
        about = f"Versions of `{page['group']}`: {versions}. Plural `{page['plural']}`, short name `{page['shortName']}`."
        return "\n\n".join(part for part in (f"# {page['kind']}", page["description"], about, _rules(page["rules"])) if part) + "\n"
    return "\n\n".join([f"# {page['field']}", *(_place_text(place) for place in page["places"])]) + "\n"


def _place_text(place: Page) -> str:
    facts = [f"type {place['type']}"]
    if place["default"] is not None:
        facts.append(f"default `{place['default']}`")
    if place["allowed"]:
        facts.append("one of " + ", ".join(f"`{value}`" for value in place["allowed"]))
    if place["fields"]:
        facts.append("fields " + ", ".join(f"`{name}`" for name in place["fields"]))
    parts = (f"## {place['kind']} `{place['path']}`", place["description"], "; ".join(facts) + ".", _rules(place["rules"]))
    return "\n\n".join(part for part in parts if part)


def _rules(found: list[dict[str, str]]) -> str:
    lines = [f"- `{rule['rule']}` ({rule['code']}): {rule['title']}" for rule in found]
    return "\n".join(["Rules that look at it or at what holds it:", "", *lines]) if lines else ""
