"""Laws of admission in two versions, on objects generated from the schemas: one verdict, whichever version asks; patches do the same."""

import base64
from typing import Any

import orjson
import pytest

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.admission.version_view import VersionView
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.remainder import annotation_keys
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.envelope import Answer
from dynamo_webhooks.webhooks.routes import ROUTES, route_path
from tests.laws.conftest import SEED
from tests.laws.dice import Dice
from tests.laws.strategies import PAIRS, edit, make_object
from tests.webhooks.requests import review
from tests.webhooks.test_admission import FACTS

MOST = 60  # objects of each test: an object is asked about eight times
# an adapter has no webhooks
JUDGED = [(kind, version) for kind, version in PAIRS if route_path(kind, version, Purpose.VALIDATE) in ROUTES]


def _asked(obj: Any, old: Any, kind: str, version: str, purpose: Purpose) -> Answer:
    asked = orjson.loads(review(obj, "CREATE" if old is None else "UPDATE", old))
    body = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)  # as an API server sends it
    return answer(ROUTES[route_path(kind, version, purpose)], body, Settings(FACTS))


def _other(version: str) -> str:
    return "v1beta1" if version == "v1alpha1" else "v1alpha1"


def _causes(found: Answer) -> int:
    return len(orjson.loads(found.body)["response"].get("status", {}).get("details", {}).get("causes", []))


def _apart(*answers: Answer) -> bool:
    """Whether a rule spoke that reads only what was written in v1alpha1."""
    return any((rule := find_rule(name)) and ".v1alpha1." in rule.module for each in answers for name in each.verdict.rules)


@pytest.mark.parametrize(("kind", "version"), JUDGED)
def test_one_verdict(kind: str, version: str) -> None:
    """Creations, and updates by an edit that somebody made in the other version."""
    other = _other(version)

    for number in range(MOST):
        dice = Dice(SEED, "verdict", kind, version, number)
        obj = make_object(dice, kind, version)
        there = convert(KINDS[kind], obj, other).object
        edited = edit(dice, there)
        back = convert(KINDS[kind], edited, version).object
        for (here, old), (yonder, stored) in (((obj, None), (there, None)), ((back, obj), (edited, there))):
            for purpose in (Purpose.VALIDATE, Purpose.MUTATE):
                one = _asked(here, old, kind, version, purpose)
                two = _asked(yonder, stored, kind, other, purpose)
                if _apart(one, two):
                    continue
                assert (one.verdict.code, sorted(one.verdict.rules)) == (two.verdict.code, sorted(two.verdict.rules))
                assert one.verdict.outcome == two.verdict.outcome != "fault"
                assert _causes(one) == _causes(two)


@pytest.mark.parametrize(("kind", "version"), JUDGED)
def test_patches_hold_nothing_beside_what_the_defaults_want(kind: str, version: str) -> None:
    """At most one operation for each field that a default sets, one for a parent that is missing, and one for what conversion remembers.

    The last one where the object remembers more than stays true: that it had no spec at all, for example.
    """
    remembering = [key.replace("/", "~1") for key in annotation_keys(KINDS[kind])]

    for number in range(MOST):
        dice = Dice(SEED, "patches", kind, version, number)
        obj = make_object(dice, kind, version)
        there = convert(KINDS[kind], obj, _other(version)).object
        one = _asked(obj, None, kind, version, Purpose.MUTATE)
        two = _asked(there, None, kind, _other(version), Purpose.MUTATE)
        for found, asked in ((one, obj), (two, there)):
            told = orjson.loads(found.body)["response"]
            if found.verdict.code == 400:
                continue
            for operation in orjson.loads(base64.b64decode(told.get("patch", "W10="))):
                assert operation["op"] in ("add", "replace")
                wanted = ("annotations", "replicas", "name", "serviceName", "image", "profilingConfig", "profilerImage", "spec", "services")
                last = operation["path"].rpartition("/")[2]
                remembers = operation["op"] == "replace" and last in remembering
                assert last in wanted or "origin-version" in last or remembers, (operation, asked)


@pytest.mark.parametrize(("kind", "version"), [pair for pair in JUDGED if ROUTES[route_path(*pair, Purpose.VALIDATE)].converts])
def test_rules_say_of_a_view_what_they_say_of_the_whole(kind: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words, causes and patches, byte for byte, with honest and dishonest annotations: no rule reads what a view leaves out."""
    asked = []
    for number in range(MOST):
        dice = Dice(SEED, "views", kind, version, number)
        obj = make_object(dice, kind, version, odd=number % 4 == 2, hostile=number % 4 == 3)
        there = convert(KINDS[kind], make_object(dice, kind, _other(version)), version).object
        asked += [(new, old) for new in (obj, there, edit(dice, there)) for old in (None, obj, there)]

    def answers() -> list[bytes]:
        return [_asked(*each, kind, version, purpose).body for each in asked for purpose in (Purpose.VALIDATE, Purpose.MUTATE)]

    viewing = answers()
    monkeypatch.setattr(VersionView, "judged", lambda across, obj: convert(across.kind, obj, across.read).object)
    assert viewing == answers()
