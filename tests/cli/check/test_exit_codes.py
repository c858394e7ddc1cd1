"""The published exit codes of `check`: each row of the table, every pair of rows, and the same for every output format."""

from itertools import combinations
from typing import Any, Final

import pytest

from dynamo_webhooks.cli.commands.check import steps
from dynamo_webhooks.cli.console import exits
from dynamo_webhooks.cli.project.reports import FORMATS
from dynamo_webhooks.policies.at import make_fault
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.evaluate import evaluate
from tests.cli.conftest import Command, Files
from tests.cli.daemon.processes import unreachable
from tests.cli.samples import BAD, BAD_RULE, GOOD, NEEDS_GROVE, OTHER_KIND, WARNED
from tests.rows import run_each

# as published: a code is never given another meaning
NUMBERED: Final = ("ok", "refused", "usage", "nothing found", "unreadable", "not evaluated", "unreachable")
CODES: Final = {**{name: number for number, name in enumerate(NUMBERED)}, "bug": 70, "interrupted": 130}
ORDER: Final = (70, 2, 6, 4, 1, 5, 3, 0)
UNWRITABLE: Final = f"json={'x' * 300}"  # a name that no file system takes, so that writing fails once everything was checked

# what a user does -> what comes of it; the object `faulty` makes a rule raise
HAPPENS: Final[dict[str, list[str]]] = {
    "ok": ["good.yaml"],
    "refused": ["bad.yaml"],
    "usage": [f"-o{UNWRITABLE}"],
    "nothing found": ["other.yaml"],
    "unreachable": ["--cluster", "--kubeconfig=kubeconfig"],
    "unreadable": ["broken.yaml"],
    "not evaluated": ["grove.yaml", "--require-facts"],
    "bug": ["faulty.yaml"],
}
# a run that finds no object can neither have refused nor left out one
APART: Final = frozenset({"nothing found"})
WITH_AN_OBJECT: Final = frozenset({"ok", "refused", "not evaluated", "bug"})
TOGETHER: Final = [pair for pair in combinations(HAPPENS, 2) if not (APART.intersection(pair) and WITH_AN_OBJECT.intersection(pair))]


@pytest.fixture
def inputs(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file for everything that can happen, and a rule that raises for one object."""
    folder = files(
        good=GOOD, bad=BAD, other=OTHER_KIND, broken="a: [", grove=NEEDS_GROVE, faulty=GOOD.replace("name: good", "name: faulty")
    )
    unreachable(folder)
    rule = find_rule(BAD_RULE)
    assert rule

    def raising(review: Any, most: int | None) -> Any:
        faulty = review.object["metadata"]["name"] == "faulty"
        return [make_fault(rule, ("spec",), KeyError("x"))] if faulty else evaluate(review, most)

    monkeypatch.setattr("dynamo_webhooks.admission.judging.evaluate", raising)


def _code(command: Command, form: str, *happening: str) -> int:
    """The exit code of a run in one format in which all of that happens."""
    words = [word for what in happening for word in HAPPENS[what]]
    return command("check", *sorted(words, key=lambda word: not word.endswith(".yaml")), "-o", form).code


def test_the_published_numbers_are_the_ones_in_the_code() -> None:
    assert {name: getattr(exits, name.upper().replace(" ", "_")) for name in CODES} == CODES


@pytest.mark.interpreted
@run_each("form", FORMATS)
@pytest.mark.parametrize("what", HAPPENS)
@pytest.mark.usefixtures("inputs")
def test_each_row_in_each_format(command: Command, what: str, form: str) -> None:
    assert _code(command, form, what, *(["ok"] if what == "usage" else [])) == CODES[what]


@pytest.mark.interpreted
@run_each(("first", "second"), TOGETHER)
@pytest.mark.usefixtures("inputs")
def test_of_two_things_that_happen_the_worse_decides(command: Command, first: str, second: str) -> None:
    wanted = min(CODES[first], CODES[second], key=ORDER.index)
    assert _code(command, "text", first, second) == wanted


@run_each(("better", "worse"), [(better, worse) for worse, better in combinations(ORDER, 2)])
def test_the_precedence_of_codes(better: int, worse: int) -> None:
    assert exits.worst_code([better, worse]) == exits.worst_code([worse, better]) == exits.worst_code([worse]) == worse


@pytest.mark.interpreted
@run_each(
    ("words", "code"),
    [
        (["warned.yaml"], 0),
        (["warned.yaml", "--fail-on", "warning"], 1),
        (["bad.yaml", "--fail-on", "never"], 0),
        (["other.yaml", "--allow-empty"], 0),
        (["grove.yaml"], 0),
        (["broken.yaml", "--fail-on", "never"], 4),
        (["grove.yaml", "--require-facts", "--fail-on", "never"], 5),
        (["faulty.yaml", "--fail-on", "never"], 70),
        (["good.yaml", "--fail-on", "never", "--no-such-flag"], 2),
        (["no-such-file.yaml"], 4),
        ([], 2),
    ],
)
@pytest.mark.usefixtures("inputs")
def test_flags_that_change_a_code(command: Command, files: Files, words: list[str], code: int) -> None:
    files(warned=WARNED)
    assert command("check", *words).code == code


@run_each("form", FORMATS)
def test_an_interrupt_is_130_in_each_format(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(steps, "exit_code", interrupted)
    files(good=GOOD)
    ran = command("check", "good.yaml", "-o", form)
    assert (ran.code, ran.out) == (130, "")
