"""What the playground's worker calls, in this interpreter: the commands' own words, and no module that a browser lacks.

Its stand-in for orjson has the same bytes and the same refusals.
"""

import gzip
import json
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.api.line import Line
from tests.cli.conftest import Command, command
from tests.cli.samples import BAD, BAD_RULE, GOOD
from tools.playground import __main__ as builder
from tools.playground.runtime import engine
from tools.playground.runtime import orjson as stand_in

__all__ = ["command"]

ROOT: Final = Path(__file__).parents[2]
EXAMPLE: Final = (builder.HERE / "page" / "example.yaml").read_text()
VIEWS: Final = ("check", "answer", "convert", "default", "render", "explain")
# what Pyodide has not, or can't use: each stops an import; orjson and libyaml are compiled
MISSING: Final = (
    *("subprocess", "socket", "_socket", "ssl", "_ssl", "mmap", "fcntl", "resource", "multiprocessing", "_posixsubprocess"),
    *("pwd", "grp", "termios", "yaml._yaml"),
)
BLOCKED: Final = """
import sys
for name in {missing}:
    sys.modules[name] = None
sys.path[:0] = [{archive!r}]
import engine, orjson, yaml, json
assert not yaml.__with_libyaml__ and not hasattr(orjson, "__version__")
print(json.dumps([json.loads(engine.describe()), *(json.loads(engine.answer({text!r}, view, "1.5", "grove=true")) for view in {views})]))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(text: str, view: str, line: str = "1.5", facts: str = "") -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(engine.answer(text, view, line, facts))
    return answer


def test_it_runs_without_what_a_browser_lacks(folder: Path) -> None:
    """The files of the archive in an interpreter of their own answer as the commands do here."""
    for name, content in builder.collect().items():
        (folder / "app" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "app" / name).write_bytes(content)
    program = BLOCKED.format(missing=MISSING, archive=str(folder / "app"), text=EXAMPLE, views=VIEWS)
    done = subprocess.run([sys.executable, "-I", "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    described, *answers = json.loads(done.stdout)
    assert answers == [ask(EXAMPLE, view, facts="grove=true") for view in VIEWS]
    assert described == json.loads(engine.describe())
    assert described["lines"] == list(Line)
    assert described["usual"] in described["lines"]
    assert set(described["rules"]) == {page.stem for page in (ROOT / "docs" / "rules").glob("*.md")}


def test_each_view_is_what_its_command_prints(command: Command, folder: Path) -> None:
    (folder / engine.FILE).write_text(BAD)
    for view, words in {
        "default": ["default", "input.yaml"],
        "convert": ["convert", "input.yaml", "--to", "v1beta1"],
        "v1alpha1": ["convert", "input.yaml", "--to", "v1alpha1"],
        "render": ["render", "input.yaml"],
    }.items():
        printed = command(*words, "--line", "1.5")
        answer = ask(BAD, view)
        assert (answer["text"], answer["code"], answer["version"]) == (printed.out, printed.code, "v1alpha1"), view
    answer = ask(BAD, "check")
    assert [(each["rule"], each["line"]) for each in answer["report"]["findings"]] == [(BAD_RULE, 10)]
    assert "is invalid" in ask(BAD, "answer")["text"]
    assert ask(BAD, "explain")["text"] == command("explain", BAD_RULE).out
    assert ask(GOOD, "explain")["text"] == command("explain", "DynamoGraphDeployment").out


def test_line_and_facts_are_those_that_are_named_and_no_other_command_can_be_run() -> None:
    assert ask(GOOD, "check", "1.2")["report"]["summary"]["operatorLine"] == "1.2"
    assert "gruve" in ask(GOOD, "check", facts="gruve=true")["notes"]
    for view in ("constructor", "up", "migrate", "schema", ""):
        assert (ask(BAD, view)["text"], ask(BAD, view)["code"]) == ("", 1)


def test_a_message_is_explained_whatever_the_view() -> None:
    answer = ask('* spec.restart.strategy.order[1]: must be a component of this graph, got "wroker" [restart-order-unknown]', "render")
    assert answer["view"] == "explain"
    assert answer["text"].startswith("# restart-order-unknown (DYN135, error)")


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        (
            'admission webhook "vdgd.kb.io" denied the request: DynamoGraphDeployment.nvidia.com "g" is invalid: '
            "spec.components[0].experimental.gpuMemoryService: Forbidden: GPU memory service is only supported for worker, prefill, or "
            "decode components",
            "# gms-worker-only ",
        ),
        ('error: Apply failed with 1 conflict: conflict with "first": .spec.modelName', "# Apply failed with "),
    ],
)
def test_refusals_of_others_are_explained_too(text: str, begins: str) -> None:
    assert ask(text, "check")["text"].startswith(begins)


@pytest.mark.parametrize(
    "text", ["", " \n", "kind: [", "apiVersion: \ud800", "kind: a\n" + "x: " + "[" * 5000, "\0", "kind: a\0", "-- kind"]
)
def test_any_text_has_an_answer(text: str) -> None:
    for view in VIEWS:
        assert ask(text, view)["code"] != 70, view


def test_packages_are_pinned_with_hashes_and_name_no_registry() -> None:
    named = json.loads((builder.HERE / "package.json").read_text())
    locked = json.loads((builder.HERE / "package-lock.json").read_text())["packages"]
    for name, version in {**named["dependencies"], **named["devDependencies"]}.items():
        assert locked[f"node_modules/{name}"]["version"] == version
    assert [name for name, about in locked.items() if name and not about["integrity"].startswith("sha512-")] == []
    assert [name for name, about in locked.items() if "resolved" in about] == []


OPTIONS: Final = [0, orjson.OPT_INDENT_2, orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE, orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS]
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.integers(-(2**40), 2**40).map(lambda n: n / 8) | st.text()
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20)


def test_its_options_are_those_of_orjson() -> None:
    names = [name for name in vars(stand_in) if name.startswith("OPT_")]
    assert {name: getattr(orjson, name) for name in names} == {name: getattr(stand_in, name) for name in names}
    used = {word for path in ROOT.glob("dynamo_webhooks/*/**/*.py") for word in path.read_text().split() if word.startswith("orjson.")}
    assert {word for word in used if "OPT_" in word and not any(name in word for name in names)} == set()


@given(values)
def test_it_writes_and_reads_the_same(value: object) -> None:
    for option in OPTIONS:
        written = orjson.dumps(value, option=option)
        assert stand_in.dumps(value, option=option) == written
        assert repr(stand_in.loads(written)) == repr(orjson.loads(written))


def test_it_writes_and_reads_recorded_objects_the_same() -> None:
    texts = [file.read_bytes() for file in sorted((ROOT / "api" / "generated").glob("*.json"))]
    for name in ("golden", "convert15"):
        with gzip.open(ROOT / "tests" / "golden" / "recorded" / f"{name}.ndjson.gz") as lines:
            texts += islice(lines, 0, 2_000, 10)
    assert len(texts) > 300
    for text in texts:
        assert stand_in.loads(text) == (value := orjson.loads(text))
        assert [stand_in.dumps(value, option=option) for option in OPTIONS] == [orjson.dumps(value, option=option) for option in OPTIONS]
    for page in (ROOT / "manifests" / "crds").glob("*/*.yaml"):
        value = yaml.load(page.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - either is safe
        assert stand_in.dumps(value) == orjson.dumps(value)


@pytest.mark.parametrize("value", ["\ud800", {"a": {3}}, b"x"])
def test_it_refuses_to_write_the_same(value: object) -> None:
    with pytest.raises(orjson.JSONEncodeError):
        orjson.dumps(value)
    with pytest.raises(stand_in.JSONEncodeError):
        stand_in.dumps(value)


@pytest.mark.parametrize(
    "text",
    ["", "nul", "NaN", "[1,]", "{'a': 1}", '"\\ud800"', '"a\nb"', "01", "1 2", b'"\xff"', "1e999", "[" * 2000, "[Infinity]", '{"a" 1}'],
)
def test_it_refuses_to_read_the_same(text: str | bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(text)
    with pytest.raises(stand_in.JSONDecodeError) as caught:
        stand_in.loads(text)
    assert isinstance(caught.value, json.JSONDecodeError)


@pytest.mark.parametrize(
    "text", ["-0", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "1" * 400 + "e-390", "1.0", "1E5"]
)
def test_it_reads_numbers_the_same(text: str) -> None:
    assert repr(stand_in.loads(text)) == repr(orjson.loads(text))
