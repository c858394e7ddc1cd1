"""`explain` with what the Go operator said: the rule that our own engine gives for the same object, or the page of the field."""

import copy
import re
from typing import Any, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.api.paths import Path, format_path
from dynamo_webhooks.cli.commands.explain.cause import Cause, load_operator_messages, split_causes
from dynamo_webhooks.cli.commands.explain.message import find
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.translate import translate_path
from dynamo_webhooks.policies.checks import CEL_RULE, SCHEMA_RULE, UNCONVERTIBLE, WRONG_TYPE
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import Level, Rule
from tests.golden.corpus import cases
from tests.golden.test_line15 import facts, stored

Found: TypeAlias = list[tuple[Rule, frozenset[str]]]  # rules, with the place of the finding in each version


class Said(NamedTuple):
    """A cause that was recorded, and the rules that our engine gives for the objects of which it was said."""

    kind: str
    text: str
    at: set[str]  # at its field, or where none is there, around it or within
    anywhere: set[str]


# what the Go operator refuses and our engine doesn't, by the page that is shown, and why
APART = {
    "workload-provider-immutable": "an update that omits the annotation gets it back",
    "wrong-type": "its own defaults write null",
    "unconverted": "what the API server says around a wrong type",
    "rules-not-checked": "we check them all the same",
    "failover-interpod-component-type": "gms-worker-only refuses the same component",
    "epp-config-required": "the released line 1.5 requires no configuration (GA12)",
    "epp-configmap-name-required": "epp-config-source-exclusive says what to do about the same block",
    "provider-override-topology-conflict": "the released line 1.5 has no such field (GA10)",
}


def _judged(case: dict[str, Any]) -> Found:
    """What our engine finds in all stages: an API server stops at the first."""
    new = copy.deepcopy(case["object"])
    kind, version = new["kind"], new["apiVersion"].partition("/")[2]
    old = stored(case["old"], new["apiVersion"]) if case["operation"] == UPDATE else None
    write = Admission(kind, version, case["operation"], new, old, user=case.get("user") or "admin", settings=Settings(facts()))
    write.shape()
    findings: list[tuple[Rule, Path]] = [(WRONG_TYPE, error.path) for error in write.decode()]
    readable = not findings
    try:
        if readable and write.mutated:
            write.mutate()
        findings += [(CEL_RULE if error.rule else SCHEMA_RULE, error.path) for error in write.conform()]
        findings += [(finding.rule, finding.path) for finding in (write.judge() if readable else ()) if finding.rule.level is Level.ERROR]
    except ConversionError as error:
        findings.append((UNCONVERTIBLE, error.path))
    return [(rule, _places(kind, version, path, write.object)) for rule, path in findings]


def _places(kind: str, version: str, path: Path, obj: dict[str, Any]) -> frozenset[str]:
    """A path in each version, as `_plain` writes them."""
    other = BY_NAME[kind].other(version)
    paths = [path, *([translate_path(KINDS[kind], path, obj, other, {}).path] if other and kind in KINDS and len(path) > 1 else [])]
    return frozenset(_plain(format_path(place)) for place in paths)


def _plain(path: str) -> str:
    return re.sub(r"\[([^\]]*)\]", r".\1", path) + "."


def _rules_at(cause: Cause, findings: Found) -> set[Rule]:
    here = _plain(cause.path)
    exact = {rule for rule, places in findings if here in places}
    return exact or {rule for rule, places in findings if any(place.startswith(here) or here.startswith(place) for place in places)}


def _explain(kind: str, text: str) -> set[str]:
    """The names of the rules and known messages that explain one cause, as kubectl prints it."""
    pages = find(f'The {kind} "g" is invalid: {text}')
    return {str(page.get("rule") or page.get("message") or "") for page in pages}


def _without_values(text: str) -> str:
    return re.sub(r'"[^"]*"|\d+|\[[^\[\]./]*\]', "_", text)


def _words(cause: Cause) -> str:
    """The text of a cause without the lead of the refusal."""
    return cause.text.rpartition(" is invalid: ")[2].removeprefix("[").removesuffix("]")


def test_each_recorded_refusal_leads_to_the_rule_that_our_engine_gives_for_the_same_object(subtests: pytest.Subtests) -> None:
    causes: dict[tuple[str, str], Said] = {}
    refusals: dict[str, str] = {}
    for case in cases("line15.ndjson.gz", "api"):
        if case["expect"]["accepted"]:
            continue
        findings, kind, note = _judged(case), case["object"]["kind"], case["expect"]["note"]
        refusals.setdefault(_without_values(note), note)
        for cause in split_causes(note):
            if not cause.cut:
                entry = causes.setdefault((kind, _without_values(_words(cause))), Said(kind, _words(cause), set(), set()))
                entry.at.update(rule.name for rule in _rules_at(cause, findings))
                entry.anywhere.update(rule.name for rule, _ in findings)
    assert (len(refusals) > 477, len(causes) > 200) == (True, True)
    direct = 0
    for entry in causes.values():
        with subtests.test(entry.text):
            names = _explain(entry.kind, entry.text)
            assert names
            assert names & entry.at or names <= entry.anywhere | APART.keys()
            direct += bool(names & entry.at)
    assert direct > len(causes) * 3 // 4
    # a whole refusal is explained as its causes are
    for note in refusals.values():
        with subtests.test(note):
            names = {str(page.get("rule") or page.get("message") or "") for page in find(note)}
            assert names
            assert "other-refusal" not in names


def test_each_message_of_the_table_was_recorded(subtests: pytest.Subtests) -> None:
    notes = {cause.text for case in cases("line15.ndjson.gz", "api") for cause in split_causes(case["expect"].get("note", ""))}
    for rule, messages in load_operator_messages().items():
        for pieces in messages:
            with subtests.test(rule.name):
                assert any(all(piece in note for piece in pieces) for note in notes), pieces
