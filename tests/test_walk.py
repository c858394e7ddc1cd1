"""The map for contributors is true: a request takes the functions that CONTRIBUTING names, and the pictures show all of the code.

And a new line with one field and one rule is what that page shows: three files by hand, and generated ones.
"""

import re
import shutil
import subprocess
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
from tools.manual.architecture import STAGES, list_imports, reduce_edges

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = (ROOT / "CONTRIBUTING.md").read_text()
STEPS: Final = re.findall(r"^\| (\d+) \| `([\w/]+)\.py` `([\w.]+)` \|", PAGE, re.MULTILINE)
URL: Final = "/validate-nvidia-com-v1beta1-dynamographdeployment"


def _function(file: str, name: str) -> Any:
    obj: Any = import_module(f"dynamo_webhooks.{file.replace('/', '.')}")
    for part in name.split("."):
        obj = getattr(obj, part)
    return unwrap(obj)


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
        reply = answer(route, body, settings)
    finally:
        sys.setprofile(previous)
    assert b"gms-requires-gpu" in reply.body
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


def test_the_pipeline_shows_every_stage_and_the_rooms_their_imports() -> None:
    public = {name for name, value in vars(Admission).items() if isfunction(value) and not name.startswith("_")}
    assert public - {"review"} == set(STAGES)
    assert {"webhooks", "cli", "reconciler"} <= {room.rpartition(".")[2] for room, others in list_imports().items() if others}
    assert reduce_edges({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == [("a", "b"), ("b", "c")]


def test_what_people_look_for_is_where_the_list_says() -> None:
    rows = PAGE.partition("## Where is ...")[2].partition("\n## ")[0].splitlines()
    places = [re.findall(r"`(\w[\w.-]*/[\w./-]*)`", row) for row in rows if row.startswith(("| a", "| the", "| what"))]
    assert len(places) == 12
    for row in places:
        assert row
        assert all((ROOT / place.replace("KIND", "component")).exists() for place in row), row


def test_adding_a_rule_takes_four_commands_and_a_field_five() -> None:
    sections = dict(re.findall(r"^## (.+)\n\n((?:    .+\n)+)", PAGE, re.MULTILINE))
    assert {head: body.count("\n") for head, body in sections.items()} == {"Add a rule": 4, "Add a field": 5, "Add a controller": 2}
    for name in re.findall(r"(?:EDITOR|pytest) ([\w/. ]+?)(?: -k .*)?$", "".join(sections.values()), re.MULTILINE):
        for path in name.split():
            assert (ROOT / path).exists() or "my_wrong_thing" in path, path


ROOMS: Final = ("admission", "api", "cel", "certs", "cli", "conversion", "dynamo_webhooks", "kube", "policies", "tools")
SHOWN: Final = re.search(r"^```diff\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
GRAPH: Final = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: ns}
spec:
  components:
    - name: w
      type: worker
      multinode: {nodeCount: 2}
      podTemplate: {spec: {containers: [{name: main, image: "x/y:1.7.0"}]}}
      roles: [{name: leader, weight: -1}, {name: worker}]
"""


def _run(folder: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rooms that know lines, with the page's diff applied, and generated anew."""
    assert SHOWN is not None
    assert SHOWN[1].count("\n+++ b/") == 3, "as the page says, three files are changed by hand"
    folder = tmp_path_factory.mktemp("line")
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], input=SHOWN[1], cwd=folder, text=True, check=True)
    for tool in ("schemas", "project_schema"):
        _run(folder, "-m", f"tools.{tool}")
    (folder / "graph.yaml").write_text(GRAPH)
    return folder


@pytest.mark.parametrize(("line", "rule"), [("1.7", "unknown-field"), ("1.8", "roles-weight-negative")])
def test_the_new_line_has_the_field_and_its_rule_and_the_one_before_neither(tree: Path, line: str, rule: str) -> None:
    facts = ("--set-fact", "grove=true", "--no-project")
    output = _run(tree, "-m", "dynamo_webhooks", "check", "graph.yaml", "--line", line, *facts, code=1)
    assert [name for name in ("unknown-field", "roles-weight-negative") if name in output] == [rule], output


def test_the_new_line_has_a_definition_that_shows_it_and_converts_the_field(tree: Path) -> None:
    script = (
        "from dynamo_webhooks.api.crd import build; from dynamo_webhooks.api.line import Line, of_definitions, of_release;"
        "made = [[build(f'DynamoGraphDeployment{kind}', line=line) for kind in ('', 'Request')] for line in Line];"
        "print([of_definitions(*both).value for both in made], of_release('1.8.3').value)"
    )
    assert "'1.7', '1.8'] 1.8" in _run(tree, "-c", script)
    assert "weight: -1" in _run(tree, "-m", "dynamo_webhooks", "convert", "graph.yaml", "--to", "v1alpha1", "--line", "1.8", "--no-project")
