"""The laws of conversion hold for objects generated from the schemas, per kind and direction."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from conversion.lens.protocol import ConversionError
from tests.laws.conftest import lawful, sampled
from tests.laws.examples import COUNTEREXAMPLES
from tests.laws.laws import away, different, home, live, reserved, version_of, violations
from tests.laws.strategies import PAIRS, edit, make_object, wild

Object = dict[str, Any]
IDS = [f"{kind}-{version}" for kind, version in PAIRS]


@pytest.mark.parametrize(("kind", "version"), PAIRS, ids=IDS)
def test_laws(kind: str, version: str) -> None:
    """All laws on one object and one edit of its conversion: one object in four holds odd values, one in eight hostile annotations."""

    @lawful
    @hypothesis.given(st.data())
    def check(data: st.DataObject) -> None:
        kind_of = data.draw(st.integers(0, 7))
        odd = kind_of in (5, 6)
        obj = make_object(data.draw, kind, version, odd=odd, hostile=kind_of == 7)
        edited = edit(data.draw, away(obj), odd=odd)
        found = violations(obj, edited)
        assert not found, f"{found}\nobject: {obj}\nedited: {edited}"

    check()


@pytest.mark.parametrize(("kind", "version"), PAIRS, ids=IDS)
def test_hostile_annotations(kind: str, version: str) -> None:
    """Whatever lies under the reserved keys: all converts, what is live comes home, and an edit still wins."""

    @sampled
    @hypothesis.given(st.data())
    def check(data: st.DataObject) -> None:
        obj = make_object(data.draw, kind, version, hostile=True)
        edited = edit(data.draw, away(obj))
        found = violations(obj, edited)
        assert not found, f"{found}\nobject: {obj}\nedited: {edited}"

    check()


@pytest.mark.parametrize(("kind", "version"), PAIRS, ids=IDS)
def test_wrong_types(kind: str, version: str) -> None:
    """Objects that no API server lets through convert all the same, or say what is wrong; nothing else is raised, nothing is changed."""

    @sampled
    @hypothesis.given(st.data())
    def check(data: st.DataObject) -> None:
        obj = wild(data.draw, make_object(data.draw, kind, version, odd=True, hostile=True))
        before = copy.deepcopy(obj)
        with contextlib.suppress(ConversionError):
            home(away(obj), obj)
        assert different(obj, before) == ""

    check()


@pytest.mark.parametrize(("kind", "version"), PAIRS, ids=IDS)
def test_order_of_conversions(kind: str, version: str) -> None:
    """A list converts as its elements do: what was converted before an object doesn't show in its conversion."""

    @sampled
    @hypothesis.given(st.data())
    def check(data: st.DataObject) -> None:
        listed = [make_object(data.draw, kind, version, odd=True) for _ in range(3)]
        forwards = [away(obj) for obj in listed]
        backwards = [away(obj) for obj in reversed(listed)][::-1]
        assert different(backwards, forwards) == ""

    check()


@pytest.mark.parametrize("number", range(len(COUNTEREXAMPLES)))
def test_found_counterexamples(number: int) -> None:
    """What once broke a law, kept as it was found."""
    obj, edited = COUNTEREXAMPLES[number]
    assert violations(obj, edited) == []


def test_the_generators_reach_what_conversion_looks_at() -> None:
    """The laws are tried on colliding names, odd amounts, nulls, unknown members and edits that do something."""
    seen: set[str] = set()

    @hypothesis.settings(max_examples=400, database=None, deadline=None, phases=[hypothesis.Phase.generate], derandomize=True)
    @hypothesis.given(st.data())
    def look(data: st.DataObject) -> None:
        kind, version = data.draw(st.sampled_from(PAIRS[:2]))
        obj = make_object(data.draw, kind, version, odd=data.draw(st.booleans()), hostile=data.draw(st.booleans()))
        text = repr(obj)
        marks = (
            "mainContainer",
            "sidecar-frontend",
            "'1000m'",
            ": None",
            "unknownMember",
            "useAsCompilationCache",
            "podTemplate",
            "prefill",
        )
        seen.update(mark for mark in marks if mark in text)
        seen.update(["no spec"] if "spec" not in obj else [])
        seen.update(["hostile"] if reserved(obj) else [])
        if not reserved(obj) and live(edited := edit(data.draw, away(obj))) != live(away(obj)):
            seen.add("edited")
            assert version_of(home(edited, obj)) == version_of(obj)

    look()
    wanted = {"mainContainer", "sidecar-frontend", "'1000m'", ": None", "unknownMember", "useAsCompilationCache", "podTemplate", "prefill"}
    assert seen == {*wanted, "no spec", "hostile", "edited"}
