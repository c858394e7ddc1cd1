"""Examples of rules in the kind's other version: converted without annotations, judged as by a server, and marked where it reports."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.kinds import BY_NAME, api_version
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import Target, convert_object, target
from dynamo_webhooks.conversion.remainder import annotation_keys
from tests.policies.examples import Example, parse

if TYPE_CHECKING:
    from dynamo_webhooks.policies.rule import Rule

    Object = dict[str, Any]

_DIRECTIVE: Final = re.compile(r"^# (?:facts|user|op): .*$", re.MULTILINE)
_WIDTH: Final = 120


class Twins(NamedTuple):
    """The blocks of a rule in its kind's other version: Bad and Good, or Before and After."""

    first: list[str]
    second: list[str]


def other_version(rule: Rule) -> str | None:
    """The version that the rule's examples aren't written in; None for a kind of one version."""
    name, _, written = rule.kinds[0].partition("/")
    return BY_NAME[name].other(written) or None if name in KINDS else None


def twins(rule: Rule) -> Twins:
    """The examples of the rule in the other version, as far as a server says the same of them there; Good only beside some Bad."""
    if rule.is_default:
        pairs = [pair for blocks in zip(rule.bad, rule.good, strict=True) if (pair := defaulted(rule, *blocks))]
        return Twins([before for before, _ in pairs], [after for _, after in pairs])
    bad = [made for block in rule.bad if (made := converted(rule, block))]
    return Twins(bad, [made for block in rule.good if (made := converted(rule, block))] if bad else [])


def converted(rule: Rule, block: str) -> str | None:
    """A Bad or Good block in the other version; None where the server doesn't say the same of it there, or there is no other version."""
    example = parse(block, rule.kinds[0], rule.name)
    twin = _twin(example)
    if twin is None:
        return None
    reported = _reported(twin)
    if sorted(name for names in reported.values() for name in names) != sorted(each.rule.name for each in _admission(example).judge()):
        return None
    return _block(block, twin, rule.name, reported)


def defaulted(rule: Rule, before: str, after: str) -> tuple[str, str] | None:
    """A Before and an After block in the other version; None where our defaults don't lead from one to the other there."""
    one = _twin(parse(before, rule.kinds[0], rule.name))
    two = _twin(parse(after, rule.kinds[0], rule.name))
    if one is None or two is None or one.fragment == two.fragment:
        return None
    found = _admission(one).defaults().object
    if any(found.get(part) != _admission(two).defaults().object.get(part) for part in ("metadata", "spec")):
        return None
    return _block(before, one, rule.name, {}), _block(after, two, rule.name, {})


def _twin(example: Example) -> Example | None:
    """The example in its kind's other version, without what conversion would keep in annotations."""
    name, _, written = example.kind.partition("/")
    if name not in KINDS:
        return None
    version = BY_NAME[name].other(written)
    try:
        wanted = target(api_version(version), example.facts.line)
        new = _plain(name, written, example.fragment, wanted)
        old = None if example.old_text is None else _plain(name, written, yaml.safe_load(example.old_text), wanted)
    except ConversionError:
        return None
    return replace(example, kind=f"{name}/{version}", text=_dumped(new), old_text=None if old is None else _dumped(old), marks={})


def _plain(name: str, written: str, fragment: Object, wanted: Target) -> Object:
    obj = {"apiVersion": api_version(written), "kind": name, **copy.deepcopy(fragment)}
    found = dict(convert_object(obj, wanted, whole=True).object)
    kind = KINDS[name]
    reserved = {*annotation_keys(kind), *(kind.legacy.keys if kind.legacy else ())}
    metadata = dict(found.pop("metadata"))
    if annotations := {key: text for key, text in (metadata.pop("annotations", None) or {}).items() if key not in reserved}:
        metadata["annotations"] = annotations
    del found["apiVersion"], found["kind"]
    return {"metadata": metadata, **found} if metadata else found


def _admission(example: Example) -> Admission:
    """The write that the example shows."""
    review = example.review()
    name, _, version = example.kind.partition("/")
    settings = Settings(facts=example.facts)
    return Admission(name, version, example.operation, review.object, review.old, user=example.user, settings=settings)


def _reported(example: Example) -> dict[int, list[str]]:
    """The rules that a server names, by the line of the new object's text."""
    document = load_documents(example.text, "example")[0]
    found: dict[int, list[str]] = {}
    for finding in _admission(example).judge():
        found.setdefault(document.position(finding.path).line, []).append(finding.rule.name)
    return found


def _block(block: str, twin: Example, rule: str, reported: dict[int, list[str]]) -> str:
    """The text of a page: directives, the old object, and the new one with its marks."""
    lines = twin.text.splitlines()
    for number, names in reported.items():
        listed = sorted(set(names))
        lines[number - 1] += "  # expect" if listed == [rule] else f"  # expect: {', '.join(listed)}"
    kind = [f"# kind: {twin.kind}"] if "# kind:" in block else []
    old = [] if twin.old_text is None else [*twin.old_text.splitlines(), "--- # becomes"]
    return "\n".join([*kind, *_DIRECTIVE.findall(block), *old, *lines]) + "\n"


def _dumped(fragment: Object) -> str:
    """A fragment as people write it: leaves in one line."""
    return yaml.safe_dump(fragment, sort_keys=False, default_flow_style=None, width=_WIDTH, allow_unicode=True)
