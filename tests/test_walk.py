"""The map for contributors is true: a request takes the functions that CONTRIBUTING names, and the pictures show all of the code."""

import re
import sys
from importlib import import_module
from inspect import isfunction, unwrap
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import find_route
from tests.policies.examples import base, merged
from tools.manual.architecture import INSIDE, STAGES, imports, reduced

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = (ROOT / "CONTRIBUTING.md").read_text()
STEPS: Final = re.findall(r"^\| (\d+) \| `([\w/]+)\.py` `([\w.]+)` \|", PAGE, re.MULTILINE)
URL: Final = "/validate-nvidia-com-v1beta1-dynamographdeployment"


def _function(file: str, name: str) -> Any:
    found: Any = import_module(f"dynamo_webhooks.{file.replace('/', '.')}")
    for part in name.split("."):
        found = getattr(found, part)
    return unwrap(found)


def _called(body: bytes) -> list[CodeType]:
    """The code that answering a request runs, in the order in which each first begins."""
    seen: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.setdefault(frame.f_code)

    route, settings = find_route(URL), Settings(facts=facts_from(base()["facts"]))
    assert route is not None
    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        found = answer(route, body, settings)
    finally:
        sys.setprofile(previous)
    assert b"gms-requires-gpu" in found.body
    return list(seen)


@pytest.mark.interpreted
def test_a_request_takes_the_functions_of_the_walk_in_their_order() -> None:
    assert [int(number) for number, _, _ in STEPS] == list(range(1, len(STEPS) + 1))
    assert len(STEPS) <= 9
    decoder.cache_clear()  # or what another test made would not be made again
    codes = [_function(file, name).__code__ for _, file, name in STEPS]
    worker = {"name": "w", "type": "worker", "experimental": {"gpuMemoryService": {"mode": "IntraPod"}}}
    obj = merged("DynamoGraphDeployment/v1beta1", {"spec": {"components": [worker]}})
    request = {"uid": "u", "operation": "CREATE", "object": obj}
    called = _called(orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}))
    pure = [code for code in codes if code in called]
    assert len(pure) >= 6
    assert [code for code in called if code in codes] == pure
    assert not [code for code in called if "/conversion/" in code.co_filename]


def test_the_pipeline_shows_every_stage_and_the_rooms_every_import() -> None:
    public = {name for name, value in vars(Admission).items() if isfunction(value) and not name.startswith("_")}
    assert public - {"review"} == set(STAGES)
    edges = imports()
    drawn = (ROOT / "docs" / "architecture.md").read_text()
    for one, two in reduced(edges):
        assert f"  {one.rpartition('.')[2]} --> {two.rpartition('.')[2]}\n" in drawn
    assert {"webhooks", "cli", "reconciler"} <= {room.rpartition(".")[2] for room, others in edges.items() if others}


def test_the_inside_of_rooms_is_drawn_with_every_import() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    for room in INSIDE:
        edges = imports(f"dynamo_webhooks.{room}")
        assert len(edges) > 8
        for one, two in reduced(edges):
            assert f"  {one.rpartition('.')[2]} --> {two.rpartition('.')[2]}\n" in page


def test_what_people_look_for_is_where_the_list_says() -> None:
    rows = PAGE.partition("## Where is ...")[2].partition("\n## ")[0].splitlines()
    places = [re.findall(r"`(\w[\w.-]*/[\w./-]*)`", row) for row in rows if row.startswith(("| a", "| the", "| what"))]
    assert len(places) == 10
    for row in places:
        assert row
        assert all((ROOT / place.replace("KIND", "component")).exists() for place in row), row


def test_adding_a_rule_takes_four_commands_and_a_field_five() -> None:
    sections = dict(re.findall(r"^## (.+)\n\n((?:    .+\n)+)", PAGE, re.MULTILINE))
    assert {head: body.count("\n") for head, body in sections.items()} == {"Add a rule": 4, "Add a field": 5}
    for name in re.findall(r"(?:EDITOR|pytest) ([\w/. ]+?)(?: -k .*)?$", "".join(sections.values()), re.MULTILINE):
        for path in name.split():
            assert (ROOT / path).exists() or "my_wrong_thing" in path, path
