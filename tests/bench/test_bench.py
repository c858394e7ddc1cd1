"""The parts of the measurements that are right or wrong whatever the clock says: percentiles, the page, the requests."""

import time
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.bench import growth, speed
from tests.bench import table as tables
from tests.bench.requests import conversion, objects, review, wide
from tests.bench.table import QUICK, Table
from tests.bench.waiting import at
from tests.hostile.shapes import everything
from tests.webhooks.test_admission import SETTINGS


def _filled() -> Table:
    table = Table()
    table.row("Single objects", "validate Kind (7 bytes)", "9 us", "3 us", 3.0, limit=1.6)
    table.row("Waiting", "at once", "5 ms", goal="p99 5 ms")
    return table


def test_percentiles_are_of_the_answers_seen() -> None:
    times = [index / 100 for index in range(100)]
    assert (at(times, 0), at(times, 50), at(times, 99), at(times, 100)) == (0.0, 0.5, 0.99, 0.99)


def test_the_page_has_a_table_for_each_section(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "PAGE", tmp_path / "bench.md")
    _filled().write()
    page = (tmp_path / "bench.md").read_text()
    assert "| validate Kind (7 bytes) | 9 us | 3 us | 3.00 | 1.6 |" in page
    assert "| at once | 5 ms |  |  | p99 5 ms |" in page
    assert page.index("## Single objects") < page.index("## Waiting")


def test_a_whole_run_keeps_the_sections_that_have_runs_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "PAGE", tmp_path / "bench.md")
    _filled().write()
    table = Table()
    table.row(f"{tables.APART}: 10 graphs", "until all are ready", "1 s")
    table.write_section(f"{tables.APART}: 10 graphs")
    before = (tmp_path / "bench.md").read_text()
    _filled().write()
    assert (tmp_path / "bench.md").read_text() == before
    assert "| until all are ready | 1 s |" in before


def test_a_section_can_be_written_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "PAGE", tmp_path / "bench.md")
    _filled().write()
    before = (tmp_path / "bench.md").read_text()
    for section in ("Waiting", "Single objects", "New"):
        table = Table()
        table.row(section, "again", "1 ms")
        table.write_section(section)
    page = (tmp_path / "bench.md").read_text()
    assert [line for line in page.split("\n") if line.startswith("## ")] == ["## Single objects", "## Waiting", "## New"]
    assert page.count("| again | 1 ms |") == 3
    assert page.startswith(before.partition("## Single")[0])
    _filled().write_section("Waiting")
    assert "| at once | 5 ms |" in (tmp_path / "bench.md").read_text()


class Growing:
    """Takes time by the length of a body, to a power."""

    def __init__(self, power: int) -> None:
        self.power = power
        self.now = 0.0

    def answer(self, _route: object, text: bytes, _settings: object) -> None:
        self.now += (len(text) / 100_000) ** self.power


@pytest.mark.parametrize(("power", "over"), [(1, "0"), (2, "6")])
def test_what_grows_too_fast_is_counted(power: int, over: str, monkeypatch: pytest.MonkeyPatch) -> None:
    growing = Growing(power)
    monkeypatch.setattr(growth, "answer", growing.answer)
    monkeypatch.setattr(time, "process_time", lambda: growing.now)
    shapes = [shape for shape in everything() if (shape.name, shape.kind) == ("containers", "DynamoGraphDeployment")]
    monkeypatch.setattr(growth, "everything", lambda: shapes)
    table = Table()
    found = growth.growth(table, QUICK)
    assert {one.route for one in found} > {"validate v1alpha1", "mutate v1beta1", "convert to v1beta1"}
    assert (table.rows[-1].ours, table.rows[-1].goal) == (over, "0")
    assert (table.rows[0].ratio > growth.MOST) == (over != "0")


@pytest.mark.parametrize(
    "route", [route for route in ROUTES.values() if (route.kind, route.version) in objects()], ids=lambda route: route.path
)
def test_what_is_measured_is_judged(route: object) -> None:
    """A request that is refused before anything is done would be quick for the wrong reason."""
    assert isinstance(route, type(next(iter(ROUTES.values()))))
    found = answer(route, review(objects()[route.kind, route.version]), SETTINGS)
    assert found.verdict.outcome == "allowed", found.body


class Answering:
    """Answers at once, as the server would."""

    def __init__(self, lost: int = 0) -> None:
        self.lost = lost
        self.asked = b""

    def send(self, path: str, body: bytes, _times: int) -> bytes:
        self.asked = body
        found = orjson.loads(answer(ROUTES[path], body, SETTINGS).body)
        found["response"]["convertedObjects"] = found["response"]["convertedObjects"][self.lost :]
        return orjson.dumps(found)


def test_a_long_list_is_as_long_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "LIST", 20)
    monkeypatch.setattr(speed, "LIST_BYTES", 2 * 2**20)
    table, our = Table(), Answering()
    speed.whole(table, cast("Any", our))
    assert len(orjson.loads(our.asked)["request"]["objects"]) == 20
    assert len(our.asked) >= 2 * 2**20
    [row] = table.rows
    assert (row.what, row.goal) == ("convert: one review of 20 objects of 2 MiB, seconds", "10 s")
    with pytest.raises(RuntimeError, match="another number of objects"):
        speed.whole(table, cast("Any", Answering(lost=1)))


@pytest.mark.parametrize("size", [2, 25])
def test_lists_and_wide_graphs_are_converted_and_allowed(size: int) -> None:
    converted = answer(ROUTES["/convert"], conversion(size), SETTINGS)
    assert len(orjson.loads(converted.body)["response"]["convertedObjects"]) == size
    graph = wide(size)
    assert len(graph["spec"]["services"]) == size
    assert answer(ROUTES["/validate-nvidia-com-v1alpha1-dynamographdeployment"], review(graph), SETTINGS).verdict.outcome == "allowed"
    assert answer(ROUTES["/convert"], conversion(1, graph), SETTINGS).verdict.outcome == "converted"
