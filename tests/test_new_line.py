"""A new line with one field and one rule is what CONTRIBUTING.md shows: three files by hand, and generated ones."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
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
    for tool in ("schemas", "rule_index"):
        _run(folder, "-m", f"tools.{tool}")
    (folder / "graph.yaml").write_text(GRAPH)
    return folder


@pytest.mark.parametrize(("line", "said"), [("1.6", "unknown-field"), ("1.7", "roles-weight-negative")])
def test_the_new_line_has_the_field_and_its_rule_and_the_one_before_neither(tree: Path, line: str, said: str) -> None:
    facts = ("--set-fact", "grove=true", "--no-project")
    found = _run(tree, "-m", "dynamo_webhooks", "check", "graph.yaml", "--line", line, *facts, code=1)
    assert [name for name in ("unknown-field", "roles-weight-negative") if name in found] == [said], found


def test_the_new_line_has_a_definition_that_shows_it_and_converts_the_field(tree: Path) -> None:
    asked = (
        "from dynamo_webhooks.api.crd import build; from dynamo_webhooks.api.line import Line, of_definition, of_release;"
        "print([of_definition(build('DynamoGraphDeployment', line=line)).value for line in Line], of_release('1.7.3').value)"
    )
    assert "'1.6', '1.7'] 1.7" in _run(tree, "-c", asked)
    assert "weight: -1" in _run(tree, "-m", "dynamo_webhooks", "convert", "graph.yaml", "--to", "v1alpha1", "--line", "1.7", "--no-project")
