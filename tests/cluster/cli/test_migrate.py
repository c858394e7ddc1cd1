"""`migrate` on a real API server; what it proves is compared with the bytes of etcd."""

import json
import random
import signal
from collections.abc import Iterator
from functools import partial
from itertools import count
from os import kill
from typing import Any, Final

import pytest

from dynamo_webhooks.api.crd import ALLOW_DATA_LOSS
from dynamo_webhooks.api.definition_guard import NAME, binding, policy
from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME
from tests.cluster.etcd import stored, versions
from tests.cluster.migrating import PLURALS, Site, Writers, create, everything, objects, report_of, site, unread
from tests.cluster.objects import path_of
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.cluster.writes import placed, recorded

MANY: Final = 240
STEP: Final = 20  # of the recorded objects


@pytest.fixture(scope="module")
def whole(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(planes, tmp_path_factory.mktemp("migrate")) as installed:
        yield installed


@pytest.fixture
def place(whole: Site) -> Site:
    """The site without objects, which stores v1alpha1."""
    whole.empty()
    return whole


def _moved(place: Site) -> int:
    return versions(place.plane).get(f"nvidia.com/{BETA}", 0)


def _has_moved(place: Site, many: int) -> bool:
    return _moved(place) > many


def _sums(report: dict[str, Any], field: str) -> int:
    return sum(each[field] for each in report["kinds"])


def test_everything_moves_beside_writers_and_no_edit_is_lost(place: Site) -> None:
    namespace = place.plane.namespace()
    made = create(place.plane, [*objects(namespace, MANY)])
    assert versions(place.plane) == {f"nvidia.com/{ALPHA}": MANY}
    with Writers(place.plane, made[:24], namespace) as writers:
        report = place.run("--to", BETA)
    assert writers.refused == []
    assert writers.done > 50
    assert [*versions(place.plane)] == [f"nvidia.com/{BETA}"]
    assert place.stored_versions() == {plural: [BETA] for plural in PLURALS}
    for (path, note), value in writers.acknowledged.items():
        assert place.plane.request("GET", path).body["metadata"]["annotations"][note] == value
    assert report["proven"]
    assert _sums(report, "moved") + _sums(report, "writtenByOthers") + _sums(report, "alreadyThere") >= MANY
    assert all(kind["storage"] == {"before": ALPHA, "after": BETA} for kind in report["kinds"])
    # an object that could not be created anew has moved all the same, and is named
    notes = [note for kind in report["kinds"] for note in kind["notes"]]
    assert {note["matter"] for note in notes} == {"refused-at-creation"}
    assert sum("numShadows" in note["text"] for note in notes) == MANY // 6


@pytest.mark.neighbours
def test_a_run_that_is_killed_goes_on(place: Site) -> None:
    create(place.plane, [*objects(place.plane.namespace(), 120)])
    dice = random.Random(20)  # noqa: S311 - no secret
    for moved in sorted(dice.randrange(60) for _ in range(3)):
        process = place.start("--to", BETA, "--rate", "40")
        wait_until(partial(_has_moved, place, moved), f"{moved} objects being moved", process)
        kill(process.pid, signal.SIGKILL)
        process.stop()
        assert any(ALPHA in names for names in place.stored_versions().values())
    process = place.start("--to", BETA, "--rate", "40")
    wait_until(lambda: _moved(place) > 70, "some objects being moved", process)
    kill(process.pid, signal.SIGTERM)
    assert process.stop() == 130, process.tail()
    assert (report_of(process)["stopped"], report_of(process)["proven"]) == (True, False)
    report = place.run("--to", BETA)
    assert report["proven"]
    assert versions(place.plane) == {f"nvidia.com/{BETA}": 120}
    assert place.stored_versions() == {plural: [BETA] for plural in PLURALS}


def _recorded(place: Site, namespace: str) -> int:
    """Creates recorded objects, those that the API server accepts; returns how many."""
    names = (f"r-{index}" for index in count())
    made = 0
    for write in recorded(STEP):
        if BY_NAME[write.object["kind"]].plural in PLURALS:
            obj = placed(write, namespace, lambda _: next(names)).object
            made += place.plane.request("POST", path_of(obj) + "?fieldValidation=Ignore", obj).status == 201
    return made


@pytest.mark.neighbours
def test_the_way_back_leaves_everything_as_it_was(place: Site) -> None:
    namespace = place.plane.namespace()
    many = len(create(place.plane, [*objects(namespace, 24)])) + _recorded(place, namespace)
    assert many > 100
    before = {version: {name: unread(obj) for name, obj in everything(place.plane, version).items()} for version in (ALPHA, BETA)}
    content = {key: json.loads(value) for key, value in stored(place.plane).items()}
    place.plane.apply(policy(), binding())
    for there in (BETA, ALPHA):
        if there == ALPHA:
            wait_until(lambda: not place.may_store(ALPHA), "the policy guarding the definitions", place.plane.server)
        report = place.run("--to", there)
        assert (_sums(report, "moved"), report["proven"]) == (many, True)
        assert versions(place.plane) == {f"nvidia.com/{there}": many}
        assert place.stored_versions() == {plural: [there] for plural in PLURALS}
        for version, known in before.items():
            assert {name: unread(obj) for name, obj in everything(place.plane, version).items()} == known
    assert {key: json.loads(value) for key, value in stored(place.plane).items()} == content
    assert {place.definition(plural)["metadata"]["annotations"][ALLOW_DATA_LOSS] for plural in PLURALS} == {"false"}
    for obj in (binding(), policy()):
        assert place.plane.kubectl("delete", obj["kind"], NAME).code == 0
    assert "definitions of operator 1.2 must not be applied" in report["warnings"][0]
