"""The page of a field path: its schema, the corresponding field of the other version, and the rules that read it."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

from ....api.kinds import BY_NAME, list_kind_versions
from ....api.line import NEWEST, OLDEST, Line
from ....api.paths import Key, Path
from ....api.schema import Node, load_schema, resolve, whole_schema
from ....policies.catalogue import list_rules
from ....policies.rule import Rule, field_of
from ...console.kind_names import find_kind
from ...console.nearest import find_nearest
from .cause import WILD, Steps, split_steps
from .filled import fills
from .releases import list_releases
from .sentence import read_texts

# keyword of a schema -> what people call it
LIMITS: Final = {
    "minimum": "at least",
    "maximum": "at most",
    "minLength": "characters at least",
    "maxLength": "characters at most",
    "minItems": "entries at least",
    "maxItems": "entries at most",
    "pattern": "pattern",
    "format": "format",
}
_MAX_RULES: Final = 5  # of a field, in the text for people
_MAX_SEARCH_STEPS: Final = 6  # within which a field is searched by its bare name

Page = dict[str, Any]


def find(word: str) -> Page | None:
    """The page of a path, which may begin with a kind, and have keys and indices in brackets, as names, or as `*`; None for no field."""
    steps = split_steps(word)
    named = find_kind(steps[0]) if steps else None
    path = steps if named is None else steps[1:]
    if not path or not all(steps):
        return None
    places = [location for kind, version in _versions(named) if (location := describe_field(kind, version, path)) is not None]
    return {"field": word.strip(), "places": places} if places else None


def correct_path(word: str) -> str | None:
    """A path of more than one step with its first unknown one corrected; None where that makes no path that some kind has."""
    steps = split_steps(word)
    if len(steps) < 2:
        return None
    kind = find_kind(steps[0])
    lead, path = (steps[:1], steps[1:]) if kind else ((), steps)
    for at in _versions(kind):
        schema = whole_schema(*at)
        places = [location for count in range(len(path)) if (location := walk_schema(schema, path[:count])) is not None]
        known = len(places) - 1  # steps that the kind has
        name = find_nearest(path[known], places[known][0].get("properties") or {})
        right = (*path[:known], name or "", *path[known + 1 :])
        if walk_schema(schema, right) is not None:
            return ".".join((*lead, *right))
    return None


def _versions(only: str | None) -> Iterator[tuple[str, str]]:
    return ((kind, version) for kind, version in list_kind_versions() if only in (None, kind))


def describe_field(kind: str, version: str, steps: Steps) -> Page | None:
    """Everything about a field of one version as data; None if no operator release has it."""
    nodes = {line: field for line in Line if (field := walk_schema(load_schema(kind, version, line), steps)) is not None}
    if not nodes:
        return None
    node, path, keyed = nodes[max(nodes)]
    values = {line: _values(schema) for line, (schema, _, _) in nodes.items()}
    other = find_other_version(kind, version, path, keyed)
    at = {f"{kind}/{version}": path}
    if other is not None and other["exact"]:
        # rules read one version, and judge what people write in either
        at[f"{kind}/{other['version']}"] = tuple(other["path"].split("."))
    read = [rule for rule in list_rules() if any(_reads(rule, *location) for location in at.items())]
    filling = [rule for rule in read if any(fills(rule, location) for read_as, location in at.items() if read_as in rule.where)]
    judging = [rule for rule in read if not rule.is_default]
    return {
        "kind": f"{kind}/{version}",
        "path": ".".join(path),
        "type": _type(node),
        "description": _span([*nodes]) + node.get("description", ""),
        **values[max(nodes)],
        "byLine": [{"line": str(line), **page} for line, page in values.items() if page != values[max(nodes)]],
        "fields": sorted(node.get("properties") or {}),
        "schemaRules": [rule["message"] for rule in node.get("x-kubernetes-validations", ()) if "message" in rule],
        "other": other,
        "rules": summarize_rules(sorted(filling, key=lambda rule: rule.code) + sorted(judging, key=partial(_distance, path))),
        "filledBy": [rule.name for rule in filling],
    }


def _values(node: Node) -> Page:
    """The values that a field can have."""
    limits = {name: node[name] for name in LIMITS if name in node}
    return {"default": node.get("default"), "allowed": node.get("enum", []), "limits": limits}


def _span(lines: list[Line]) -> str:
    """The sentence about the releases of the operator that have a field; empty if all have it."""
    if lines[-1] is not NEWEST:
        return f"Only in operator release {list_releases(lines)}. "
    return "" if lines[0] is OLDEST else f"Since operator release {lines[0]}. "


def _distance(path: Steps, rule: Rule) -> tuple[bool, ...]:
    """Distance of a rule from a field: rules named after it, or after its parent, come first."""
    names = [re.sub(r"([A-Z])", r"-\1", step).lower() for step in reversed(path) if step != WILD]
    return tuple(name not in rule.name for name in names)


def walk_schema(schema: Node, steps: Steps) -> tuple[Node, Steps, tuple[bool, ...]] | None:
    """Steps through a schema; keys and indices come out as `*`, and for each step comes whether it is a key."""
    node, path, keyed = resolve(schema), [], []
    for step in steps:
        properties = node.get("properties") or {}
        entry = node.get("items") or node.get("additionalProperties")
        if step in properties:
            node = resolve(properties[step])
            path.append(step)
        elif isinstance(entry, dict):
            keyed.append("items" not in node)
            node = resolve(entry)
            path.append(WILD)
            continue
        else:
            return None
        keyed.append(False)
    return node, tuple(path), tuple(keyed)


def find_by_name(word: str, most: int) -> list[str]:
    """The paths of the fields with that very name that lie nearest to the root, without indices and keys, each once; at most so many."""
    paths: dict[str, None] = {}
    for kind, version in list_kind_versions():
        paths |= dict.fromkeys(_search(whole_schema(kind, version), word.strip(), ()))
    return sorted(paths, key=lambda path: (path.count("."), path))[:most]


def _search(node: Node, word: str, path: Steps) -> Iterator[str]:
    node = resolve(node)
    for name, below in (node.get("properties") or {}).items():
        if name == word:
            yield ".".join((*path, name))
        if len(path) < _MAX_SEARCH_STEPS and (path or name == "spec"):
            yield from _search(below, word, (*path, name))
    for entry in (node.get("items"), node.get("additionalProperties")):
        if isinstance(entry, dict) and len(path) < _MAX_SEARCH_STEPS:
            yield from _search(entry, word, (*path, WILD))


def _type(node: Node) -> str:
    if node.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if isinstance(node.get("additionalProperties"), dict):
        return "map"
    return str(node.get("type", "any"))


def _reads(rule: Rule, kind: str, path: Steps) -> bool:
    """Whether a rule looks at a place, below it, or at a block that contains it, as far as names in its text show."""
    if kind not in rule.where:
        return False
    at: Steps = tuple(step for step in rule.where[kind].split(".") if step)
    if path == at[: len(path)]:
        return True
    if path[: len(at)] != at:
        return False
    rest = path[len(at) :]
    wakes = [tuple(field_of(wake).split(".")) for wake in rule.when]
    return any(rest == wake[: len(rest)] for wake in wakes) or {*rest} - {WILD} <= read_texts(rule).words


def summarize_rules(rules: Iterable[Rule]) -> list[dict[str, str]]:
    """Rules as data in a list."""
    return [{"rule": rule.name, "code": rule.code, "title": rule.title} for rule in rules]


def markdown(page: Page) -> str:
    """The page for people."""
    return "\n\n".join([f"# {page['field']}", *(_field_text(location) for location in page["places"])]) + "\n"


def _field_text(location: Page) -> str:
    parts = [f"## {location['kind']} `{location['path']}`", *format_field(location)]
    more = sum(rule["rule"] not in location["filledBy"] for rule in location["rules"]) - _MAX_RULES
    return "\n\n".join([*parts, f"{more} more rules do; add `-o json` to list all."] if more > 0 else parts)


def format_field(location: Page) -> list[str]:
    """The paragraphs about a field: type, meaning, values, the other version, and the rules that are nearest to it."""
    facts = _value_texts(location)
    if location["fields"]:
        facts.append("fields " + ", ".join(f"`{name}`" for name in location["fields"]))
    lines: dict[str, list[str]] = {}
    for entry in location["byLine"]:
        lines.setdefault("; ".join(_value_texts(entry)) or "any value", []).append(entry["line"])
    filling = [rule for rule in location["rules"] if rule["rule"] in location["filledBy"]]
    judging = [rule for rule in location["rules"] if rule not in filling]
    parts = (
        f"Type {location['type']}. {location['description']}".rstrip(),
        _sentence(facts),
        " ".join(f"In operator release {list_releases(having)}: {text}." for text, having in lines.items()),
        _other(location["other"]),
        format_list("Rules of the schema:", location["schemaRules"]),
        format_list("Defaults that may fill it in:", format_rules(filling)),
        format_list("Rules that check this field or the block around it:", format_rules(judging[:_MAX_RULES])),
    )
    return [part for part in parts if part]


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if parts else ""


def _value_texts(values: Page) -> list[str]:
    """The default, the allowed values and the limits of a field."""
    default, allowed = values["default"], values["allowed"]
    texts = [] if default is None else [f"default `{default if isinstance(default, str) else json.dumps(default)}`"]
    texts += ["one of " + ", ".join(f"`{value}`" for value in allowed)] if allowed else []
    return texts + [f"{LIMITS[name]} `{value}`" for name, value in values["limits"].items()]


def _other(other: Page | None) -> str:
    """The sentence about the other version."""
    if other is None:
        return ""
    if not other["exact"]:
        return f"In {other['version']}: no such field; an annotation keeps its value while the object exists, and it round-trips."
    return f"In {other['version']}: `{other['path']}`" + (f" ({other['how']})." if other["how"] not in ("", "copied") else ".")


def format_rules(rules: list[dict[str, str]]) -> list[str]:
    """A line for each rule."""
    return [f"`{rule['rule']}` ({rule['code']}): {rule['title']}" for rule in rules]


def format_list(lead: str, lines: list[str]) -> str:
    """A list under a sentence; nothing for an empty one."""
    return "\n".join([lead, "", *(f"- {line}" for line in lines)]) if lines else ""


# Below: a field's path in the other version by the lenses, for paths with `*` for keys and indices
_NAME: Final = "NAME"  # a placeholder key on the way through the lenses
_MAIN: Final = "main"  # the container of which the flat fields of a component speak
_CONTAINERS: Final = "containers"
_HEADS: Final = ("apiVersion", "kind", "metadata")


def find_other_version(kind: str, version: str, path: tuple[str, ...], keyed: tuple[bool, ...]) -> dict[str, Any] | None:
    """The other version, the path there, and how the value gets there; None for a kind of a single version.

    `keyed` says for each step whether it is an entry of a map (else a `*` is one of a list). `exact` is false where the other version has
    no such field: `path` is the block around it then, and the value is kept in an annotation on the way there and back.
    """
    from ....conversion.kinds import KINDS
    from ....conversion.translate import translate_path

    other = BY_NAME[kind].other(version)
    if not other or kind not in KINDS or path[0] in _HEADS:
        return None
    steps: Path = tuple((Key(_NAME) if key else 0) if step == WILD else step for step, key in zip(path, keyed, strict=True))
    location = translate_path(KINDS[kind], steps, _example(steps), other, {})
    return {"version": other, "path": _format_path(location.path), "exact": location.exact, "how": _how(kind, version, path)}


def _example(steps: Path) -> Any:
    """The smallest object with the path, with names in lists, by which lenses identify components and containers."""
    made: Any = {}
    for last, step in zip((*reversed(steps[:-1]), ""), reversed(steps), strict=True):
        if isinstance(step, int):
            made = [{"name": _MAIN if last == _CONTAINERS else _NAME, **made} if isinstance(made, dict) else made]
        else:
            made = {str(step): made}
    return made


def _format_path(path: Path) -> str:
    """A path with `*` for names and indices; a container keeps its name, and keys with dots are in brackets."""
    text = ""
    for step in path:
        name = WILD if step == _NAME or isinstance(step, int) else str(step)
        bracket = "." in name or text.endswith(_CONTAINERS)
        text += f"[{name}]" if bracket else f".{name}" if text else name
    return text


def _how(kind: str, version: str, path: tuple[str, ...]) -> str:
    """The entry of the field map for the field, or for the nearest block around it."""
    from ....conversion.kinds import KINDS, field_rows

    own = ".".join(path)
    best, how = 0, ""
    for left, right, rule in field_rows(KINDS[kind]):
        for name in (left if version == "v1alpha1" else right).split(", "):
            plain = name.replace("{}", ".*").replace("[]", ".*").replace("[main]", ".*")
            if len(plain) > best and (own == plain or own.startswith(f"{plain}.")):
                best, how = len(plain), rule
    return how
