"""The recorded conversions of the Go operators 1.2 and 1.5: ours for that line agree, or are listed with the quirk and lose nothing."""

import copy
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from tests.api.admit import admit
from tests.golden.corpus import cases, compare
from tests.laws.conftest import share
from tests.laws.laws import away, different, home, live, on, reserved, violations


class Recorded(NamedTuple):
    """Where the answers of a line are, and in which of them ours differ; `unlike`, `listed`: the most, as a part of the compared cases."""

    file: str
    lists: tuple[str, ...]
    unlike: float
    listed: float = 1.0


RECORDED: Final = {
    Line.V1_2: Recorded("golden.ndjson.gz", ("conversion-skips.txt", "conversion-spelling.txt"), 0.02),
    Line.V1_5: Recorded("convert15.ndjson.gz", ("line15-conversion.txt",), 0.01, 0.026),
}
MAX_ADMITTED_SHARE: Final = 0.02  # of those whose object the definitions of line 1.5 admit as it is: of what an API server can hold


class Case(NamedTuple):
    """A recorded conversion; `origin` is the object that an unedited way back started from, which always counts as agreeing."""

    id: str
    object: dict[str, Any]
    desired: str
    expect: dict[str, Any]
    origin: dict[str, Any] | None

    @property
    def what(self) -> str:
        """Kind and direction, as cases are grouped."""
        return f"{self.object['kind']} to {self.desired}"


def _cases(line: Line) -> Iterator[Case]:
    first: dict[str, Any] = {}
    for case in cases(RECORDED[line].file, "convert"):
        if not case["id"].endswith(("-back", "-again")):
            first = case
        returning = case["id"] == first["id"] + "-back" and not case.get("edited")
        yield Case(case["id"], case["object"], case["desired"], case["expect"], first["object"] if returning else None)


@cache
def _recorded(line: Line = Line.V1_2) -> list[Case]:
    return list(_cases(line))


def _compared(line: Line = Line.V1_2) -> list[Case]:
    return [case for case in _recorded(line) if not case.expect.get("failed")]


@cache
def _listed(line: Line = Line.V1_2) -> dict[str, tuple[str, str]]:
    """Quirk and reason by case id."""
    files = [Path(__file__).with_name(name) for name in RECORDED[line].lists]
    lines = [text for file in files for text in file.read_text().splitlines() if text.strip() and not text.startswith("#")]
    rows = [text.split(maxsplit=2) for text in lines]
    assert all(len(parts) == 3 and re.fullmatch(r"C-\d\d|S-\d", parts[1]) for parts in rows), "a line is `id number reason`"
    listed = {id_: (quirk, reason) for id_, quirk, reason in rows}
    assert len(listed) == len(lines), "an id is listed once"
    return listed


def _difference(case: Case, got: dict[str, Any]) -> str:
    if case.origin is not None and got == case.origin:
        return ""
    theirs = compare()
    differences = list(theirs.diff_converted(theirs.normalise(got), theirs.normalise(case.expect["object"])))
    return "; ".join(differences[:3])


def _not_home(case: Case, got: dict[str, Any]) -> str:
    back = home(got, case.object)
    return different(live(back), live(case.object)) if reserved(case.object) else different(back, case.object)


@cache
def _answered(line: Line) -> tuple[dict[str, str], dict[str, str]]:
    """Where our answers differ from those recorded, and what doesn't come home from ours; each by case id."""
    differing, lost = {}, {}
    with on(line):
        for case in _recorded(line):
            failed = case.expect.get("failed")
            try:
                got = away(case.object, case.desired)
                if difference := _not_home(case, got):
                    lost[case.id] = difference
            except ConversionError as error:
                if not failed:
                    lost[case.id] = repr(error)
            else:
                if not failed and (difference := _difference(case, got)):
                    differing[case.id] = difference
    return differing, lost


WHAT = [f"{kind} to nvidia.com/{version}" for kind in sorted(KINDS) for version in ("v1alpha1", "v1beta1")]


@pytest.mark.slow("converts each recorded object of a line")
@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("line", RECORDED)
def test_conversions_agree_or_are_listed(line: Line, what: str) -> None:
    """Live fields equal what Go gave, zero values aside; annotations hold at least what Go wrote."""
    mine = {case.id for case in _compared(line) if case.what == what}
    wrong = {id_: text for id_, text in _answered(line)[0].items() if id_ in mine and id_ not in _listed(line)}
    assert mine, "no case is of this kind and direction"
    assert not wrong, f"{len(wrong)} of {len(mine)} differ:\n" + "\n".join(f"{id_}: {text}" for id_, text in list(wrong.items())[:25])


@pytest.mark.parametrize("line", RECORDED)
def test_every_recorded_conversion_is_compared(line: Line) -> None:
    assert {case.what for case in _recorded(line)} == set(WHAT)
    assert len(_compared(line)) > 5_000


@pytest.mark.parametrize("line", RECORDED)
def test_the_list_of_differences_is_short_and_current(line: Line) -> None:
    """A listed case that agrees is taken off the list, so the list says what differs today."""
    unlike = [quirk for quirk, _ in _listed(line).values() if quirk.startswith("C")]
    assert len(unlike) < RECORDED[line].unlike * len(_compared(line))
    assert len(_listed(line)) < RECORDED[line].listed * len(_compared(line))
    assert sorted(_listed(line).keys() - _answered(line)[0].keys()) == []


def _admitted(obj: dict[str, Any]) -> bool:
    answer = admit(copy.deepcopy(obj), obj["kind"], obj["apiVersion"].rpartition("/")[2], line=Line.V1_5)
    return not answer.errors and not answer.pruned


def test_of_what_an_api_server_can_hold_98_percent_agree() -> None:
    held = {case.id for case in _compared(Line.V1_5) if _admitted(case.object)}
    assert len(held) > 2_500
    assert len(held & _listed(Line.V1_5).keys()) < MAX_ADMITTED_SHARE * len(held)


def test_what_is_spelled_otherwise_means_the_same() -> None:
    """Ours and the recorded answer, taken back without any remainder, are the same; so what they say is, and only its place differs."""
    listed = [case for case in _compared() if _listed().get(case.id, ("", ""))[0] in ("S-1", "S-2")]
    assert len(listed) > 100
    theirs = compare()
    wrong = {}
    for case in listed:
        ours, recorded = (live(home(live(made), case.object)) for made in (away(case.object, case.desired), case.expect["object"]))
        differences = list(theirs.diff(theirs.normalise(ours)["spec"], theirs.normalise(recorded)["spec"]))
        # the Go operator keeps the sidecar's name in the annotation, which isn't looked at here
        differences = [text for text in differences if not text.endswith('.frontendSidecar: unexpected "sidecar-frontend"')]
        if differences:
            wrong[case.id] = differences[:3]
    assert wrong == {}


def test_a_compilation_cache_is_the_only_mount_that_is_left_out() -> None:
    """A workload mounts its cache by itself, so that a mount of main in the same place adds nothing."""
    listed = [case for case in _compared() if _listed().get(case.id, ("", ""))[0] == "S-7" and case.desired.endswith("v1beta1")]
    assert len(listed) > 10
    theirs = compare()
    wrong = {}
    for case in listed:
        ours, recorded = (_without_cache(theirs.normalise(obj)["spec"]) for obj in (away(case.object, case.desired), case.expect["object"]))
        if differences := [text for text in theirs.diff(ours, recorded) if ".type: missing" not in text]:  # S-3
            wrong[case.id] = differences[:3]
    assert wrong == {}


def _without_cache(spec: dict[str, Any]) -> dict[str, Any]:
    """The components of a spec without mounts of their caches, and mounts without a path."""
    for component in spec.get("components", [spec]):
        cache = component.get("compilationCache") or {}
        place = (cache.get("pvcName"), cache.get("mountPath"))
        for container in component.get("podTemplate", {}).get("spec", {}).get("containers", []):
            mounts = [mount for mount in container.pop("volumeMounts", []) if mount.get("mountPath") and _place(mount) != place]
            if mounts:
                container["volumeMounts"] = mounts
    return spec


def _place(mount: dict[str, Any]) -> tuple[Any, Any]:
    return mount.get("name"), mount.get("mountPath")


@pytest.mark.parametrize("line", RECORDED)
def test_objects_whose_answers_differ_obey_the_laws(line: Line) -> None:
    """There and back is exact; in the cases with an edit half-way, the edit survives its way back. On line 1.5 others are tried, too."""
    others = {case.id for case in share(_compared(line), 8)} if line is Line.V1_5 else set()
    tried = [case for case in _compared(line) if case.id in others or case.id in _listed(line)]
    with on(line):
        wrong = {case.id: faults for case in tried if (faults := violations(case.object))}
    assert wrong == {}


@pytest.mark.slow("converts each recorded object there and back")
@pytest.mark.parametrize("line", RECORDED)
def test_every_recorded_object_goes_there_and_back(line: Line) -> None:
    """Also the edited ones, which carry the remainder that Go wrote before the edit, and on line 1.2 those that Go could not read."""
    unread = {case.id for case in _recorded(line) if case.expect.get("failed")} if line is Line.V1_5 else set()
    assert {id_: loss for id_, loss in _answered(line)[1].items() if id_ not in unread} == {}


def test_every_accepted_object_goes_there_and_back() -> None:
    """The objects that a real API server accepted come home exactly, as written and as stored, and no annotation is left over."""
    accepted = [case for case in cases("schema.ndjson.gz", "schema") if case["expect"]["accepted"] and case["object"]["kind"] in KINDS]
    assert len(accepted) > 500
    wrong = {case["id"]: faults for case in share(accepted, 4) if (faults := violations(case["object"]))}
    for case in accepted:
        written, stored = case["object"], case["expect"]["object"]
        faults = [different(home(away(written), written), written), different(live(home(away(stored), stored)), live(stored))]
        wrong |= {case["id"]: faults} if any(faults) else {}
    assert wrong == {}
