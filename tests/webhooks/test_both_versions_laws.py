"""Laws of admission in two versions, on objects generated from the schemas: one verdict, whichever version asks; patches do the same."""

from __future__ import annotations

import base64
from typing import Any

import hypothesis
import orjson
import pytest
from hypothesis import strategies as st

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.admission.version_view import VersionView
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.remainder import keys
from dynamo_webhooks.policies.review import CURRENT, V1_2
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.envelope import Answer
from dynamo_webhooks.webhooks.routes import ROUTES, path_of
from tests.laws.conftest import EXAMPLES, SEED
from tests.laws.conftest import SETTINGS as LAWS
from tests.laws.dice import Dice, drawn
from tests.laws.strategies import PAIRS, edit, make_object
from tests.webhooks.requests import review
from tests.webhooks.test_admission import FACTS

MOST = 60  # objects of each test: an object is asked about eight times
# an adapter has no webhooks
JUDGED = [(kind, version) for kind, version in PAIRS if path_of(kind, version, Purpose.VALIDATE) in ROUTES]


def _asked(obj: Any, old: Any, kind: str, version: str, purpose: Purpose, profile: str) -> Answer:
    asked = orjson.loads(review(obj, "CREATE" if old is None else "UPDATE", old))
    body = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)  # as an API server sends it; profile 1.2 compares free-form parts as bytes
    return answer(ROUTES[path_of(kind, version, purpose)], body, Settings(FACTS, profile))


def _other(version: str) -> str:
    return "v1beta1" if version == "v1alpha1" else "v1alpha1"


def _causes(found: Answer) -> int:
    return len(orjson.loads(found.body)["response"].get("status", {}).get("details", {}).get("causes", []))


@pytest.mark.parametrize("profile", [CURRENT, V1_2])
@pytest.mark.parametrize(("kind", "version"), JUDGED)
def test_one_verdict(kind: str, version: str, profile: str) -> None:
    """Creations, and updates by an edit that somebody made in the other version."""
    other = _other(version)

    @hypothesis.seed(SEED)
    @hypothesis.settings(LAWS, max_examples=min(EXAMPLES, MOST))
    @hypothesis.given(st.data())
    def check(data: st.DataObject) -> None:
        obj = make_object(drawn(data), kind, version)
        there = convert(KINDS[kind], obj, other).object
        edited = edit(drawn(data), there)
        back = convert(KINDS[kind], edited, version).object
        for (here, old), (yonder, stored) in (((obj, None), (there, None)), ((back, obj), (edited, there))):
            for purpose in (Purpose.VALIDATE, Purpose.MUTATE):
                one = _asked(here, old, kind, version, purpose, profile)
                two = _asked(yonder, stored, kind, other, purpose, profile)
                assert (one.verdict.code, sorted(one.verdict.rules)) == (two.verdict.code, sorted(two.verdict.rules))
                assert one.verdict.outcome == two.verdict.outcome != "fault"
                assert _causes(one) == _causes(two)

    check()


@pytest.mark.parametrize(("kind", "version"), JUDGED)
def test_patches_hold_nothing_beside_what_the_defaults_want(kind: str, version: str) -> None:
    """At most one operation for each field that a default sets, one for a parent that is missing, and one for what conversion remembers.

    The last one where the object remembers more than stays true: that it had no spec at all, for example.
    """

    remembering = [key.replace("/", "~1") for key in keys(KINDS[kind])]

    @hypothesis.seed(SEED)
    @hypothesis.settings(LAWS, max_examples=min(EXAMPLES, MOST))
    @hypothesis.given(st.data())
    def check(data: st.DataObject) -> None:
        obj = make_object(drawn(data), kind, version)
        there = convert(KINDS[kind], obj, _other(version)).object
        one = _asked(obj, None, kind, version, Purpose.MUTATE, CURRENT)
        two = _asked(there, None, kind, _other(version), Purpose.MUTATE, CURRENT)
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

    check()


@pytest.mark.parametrize("profile", [CURRENT, V1_2])
@pytest.mark.parametrize(("kind", "version"), [pair for pair in JUDGED if ROUTES[path_of(*pair, Purpose.VALIDATE)].converts])
def test_rules_say_of_a_view_what_they_say_of_the_whole(kind: str, version: str, profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words, causes and patches, byte for byte, with honest and dishonest annotations: no rule reads what a view leaves out."""
    asked = []
    for number in range(min(EXAMPLES, MOST)):
        dice = Dice(SEED, "views", kind, version, profile, number)
        obj = make_object(dice, kind, version, odd=number % 4 == 2, hostile=number % 4 == 3)
        there = convert(KINDS[kind], make_object(dice, kind, _other(version)), version).object
        asked += [(new, old) for new in (obj, there, edit(dice, there)) for old in (None, obj, there)]

    def answers() -> list[bytes]:
        return [_asked(*each, kind, version, purpose, profile).body for each in asked for purpose in (Purpose.VALIDATE, Purpose.MUTATE)]

    viewing = answers()
    monkeypatch.setattr(VersionView, "judged", lambda across, obj: convert(across.kind, obj, across.read).object)
    assert viewing == answers()
