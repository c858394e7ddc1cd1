"""The laws of conversion hold for objects generated from the schemas, per kind and direction.

Of the LAWS_OBJECTS (see conftest.py: 250) that dice make of a kind and direction, every one is tried against every law
of laws.py: exactly there and back, with nothing left over; the same bytes whatever the order of members and conversions; inputs
unchanged; metadata and parts kept; a graph's parts as if alone (graphs only, where no remainder came along); what is live not overruled
by a remainder; no exception. With it goes one edit of its conversion, beside the stale remainder, for the laws of edits. Half of the
objects are plain, a quarter odd, an eighth hostile, an eighth both. As many objects again have values of wrong types, and must convert
or be refused with a reason.
"""

from typing import Any

import pytest

from dynamo_webhooks.api.line import NEWEST, Line
from tests.laws.conftest import OBJECTS, SEED
from tests.laws.dice import Dice, Replay, smallest
from tests.laws.examples import COUNTEREXAMPLES, edited
from tests.laws.laws import away, home, live, on, reserved, version_of, violations
from tests.laws.strategies import PAIRS, edit, make_object
from tests.laws.trials import any_object, search

Object = dict[str, Any]
IDS = [f"{kind}-{version}" for kind, version in PAIRS]


@pytest.mark.parametrize(("kind", "version"), PAIRS, ids=IDS)
def test_hundreds_of_objects(kind: str, version: str) -> None:
    """All laws on every object; a complaint names seed and number, and shows the smallest object found that breaks a law likewise."""
    complaint = search(kind, version, SEED, range(OBJECTS))
    assert not complaint, complaint


def test_equal_seeds_make_equal_objects() -> None:
    """So a complaint's seed and number are enough to see it again; the next number is another object."""
    first, again, other = (any_object(Dice(5, *PAIRS[0], number), *PAIRS[0]).obj for number in (1, 1, 2))
    assert first == again != other


def test_what_breaks_a_law_is_made_small() -> None:
    """Also where its cause is a member or two among many."""

    def fails(throws: list[int]) -> bool:
        return "sharedMemory" in repr(make_object(Replay(throws), *PAIRS[0]))

    first = next(dice.thrown for number in range(200) if make_object(dice := Dice(number), *PAIRS[0]) and fails(dice.thrown))
    spec = make_object(Replay(smallest(first, fails)), *PAIRS[0])["spec"]
    assert "sharedMemory" in repr(spec)
    assert len(repr(spec)) < 80 < len(repr(make_object(Replay(first), *PAIRS[0])["spec"]))


@pytest.mark.parametrize("line", Line)
def test_found_counterexamples(line: Line) -> None:
    """What once broke a law, kept as it was found."""
    with on(line):
        broken = {number: texts for number, (obj, parts) in enumerate(COUNTEREXAMPLES) if (texts := violations(obj, edited(obj, parts)))}
    assert broken == {}


def test_the_generators_reach_what_conversion_looks_at() -> None:
    """The laws are tried on colliding names, odd amounts, nulls, unknown members and edits that do something."""
    marks = {"mainContainer", "sidecar-frontend", "'1000m'", ": None", "unknownMember", "useAsCompilationCache", "podTemplate", "prefill"}
    seen: set[str] = set()
    for number in range(400):
        kind, version = PAIRS[number % 2]
        dice = Dice("reach", number)
        obj = make_object(dice, kind, version, odd=number % 4 < 2, hostile=number % 8 < 4, line=NEWEST)
        seen |= {mark for mark in marks if mark in repr(obj)}
        seen |= {"no spec"} if "spec" not in obj else set()
        seen |= {"hostile"} if reserved(obj) else set()
        if not reserved(obj) and live(other := edit(dice, away(obj))) != live(away(obj)):
            seen.add("edited")
            assert version_of(home(other, obj)) == version_of(obj)
    assert seen == {*marks, "no spec", "hostile", "edited"}
