"""The recorded conversions of the operator 1.5: ours for that line agree, or are listed with the quirk and lose nothing."""

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.walk.admit import admit
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import kind_of
from tests.golden.corpus import cases, compare
from tests.laws import laws

pytestmark = pytest.mark.golden

LISTED = Path(__file__).with_name("line15-conversion.txt")
MOST = 0.026  # of the compared cases
MOST_ADMITTED = 0.02  # of those whose object the definitions of line 1.5 admit as it is: of what an API server can hold
MOST_UNLIKE = 0.01  # of them; values in another place than in the recorded answers (S) say the same


@cache
def _cases() -> tuple[tuple[dict[str, Any], dict[str, Any] | None], ...]:
    """The cases that were converted, and of an unedited way back the object that it began with."""
    found, first = [], dict[str, Any]()
    for case in cases("convert15.ndjson.gz", "convert"):
        if not case["id"].endswith(("-back", "-again")):
            first = case
        returning = case["id"] == first["id"] + "-back" and not case.get("edited")
        if not case["expect"].get("failed"):
            found.append((case, first["object"] if returning else None))
    return tuple(found)


@cache
def _listed() -> dict[str, str]:
    """Numbers by case id."""
    lines = [line.split(maxsplit=2) for line in LISTED.read_text().splitlines() if not line.startswith("#")]
    assert all(len(parts) == 3 and re.fullmatch(r"C-\d\d|S-\d", parts[1]) for parts in lines), "a line is `id number reason`"
    return {id_: number for id_, number, _ in lines}


def _converted(case: dict[str, Any]) -> dict[str, Any]:
    kind = kind_of(case["object"]["kind"], Line.V1_5)
    return convert(kind, case["object"], case["desired"].rpartition("/")[2]).object


@cache
def _differing() -> dict[str, str]:
    theirs, found = compare(), {}
    for case, origin in _cases():
        got = _converted(case)
        if origin is not None and got == origin:
            continue
        if unlike := list(theirs.diff_converted(theirs.normalise(got), theirs.normalise(case["expect"]["object"]))):
            found[case["id"]] = "; ".join(unlike[:3])
    return found


def test_conversions_agree_or_are_listed() -> None:
    assert len(_cases()) > 5_000
    wrong = {id_: found for id_, found in _differing().items() if id_ not in _listed()}
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(f"{id_}: {found}" for id_, found in list(wrong.items())[:25])


def test_the_list_is_short_and_current() -> None:
    unlike = [number for number in _listed().values() if number.startswith("C")]
    assert len(unlike) < MOST_UNLIKE * len(_cases())
    assert len(_listed()) < MOST * len(_cases())
    assert sorted(_listed().keys() - _differing().keys()) == []


def _admitted(obj: dict[str, Any]) -> bool:
    answer = admit(copy.deepcopy(obj), obj["kind"], obj["apiVersion"].rpartition("/")[2], line=Line.V1_5)
    return not answer.errors and not answer.pruned


def test_of_what_an_api_server_can_hold_98_percent_agree() -> None:
    held = {case["id"] for case, _ in _cases() if _admitted(case["object"])}
    assert len(held) > 2_500
    assert len(held & _listed().keys()) < MOST_ADMITTED * len(held)


def test_every_recorded_object_obeys_the_laws() -> None:
    """There and back on line 1.5 is exact; in the cases with an edit half-way, the edit survives its way back."""
    with laws.on(Line.V1_5):
        wrong = {case["id"]: found for case, _ in _cases() if (found := laws.violations(case["object"]))}
    assert wrong == {}
