"""`check --watch`: what changes is checked again, what is wrong for a moment ends nothing, and an interrupt ends it with 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from dynamo_webhooks.cli.check import watch
from tests.cli.conftest import Command, Files, Ran
from tests.cli.objects import BAD, BAD_RULE, GOOD

Steps = Callable[..., Ran]


@pytest.fixture
def steps(command: Command, monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Runs the command, which does one step where it would wait, and is interrupted behind the last."""

    def run(*words: str, then: list[Callable[[], Any]]) -> Ran:
        left = iter(then)

        def step(seconds: float) -> None:
            assert watch.PAUSE <= seconds < 60
            for one in left:
                one()
                return
            raise KeyboardInterrupt

        monkeypatch.setattr(watch.watch, "__defaults__", (step,))
        return command("check", *words, "--watch")

    return run


def test_only_what_changed_is_checked_again(files: Files, steps: Steps) -> None:
    folder = files(a=GOOD, b=BAD)

    def rewrite(name: str, text: str) -> Callable[[], Any]:
        return lambda: (folder / name).write_text(text)

    ran = steps(
        ".",
        "-q",
        then=[
            lambda: None,
            rewrite("a.yaml", BAD + "# longer\n"),
            rewrite("c.yaml", GOOD.replace("good", "c")),
            (folder / "b.yaml").unlink,
            lambda: None,
        ],
    )
    assert ran.code == 130
    assert [line.partition(":")[0] for line in ran.out.splitlines()] == ["b.yaml", "a.yaml"]
    assert all(BAD_RULE in line for line in ran.out.splitlines())
    assert [line for line in ran.err.splitlines() if line] == ["1 file changed: a.yaml", "1 file new: c.yaml", "1 file gone: b.yaml"]


def test_facts_are_read_again_for_all_files(files: Files, steps: Steps) -> None:
    folder = files(a=BAD, facts="grove: true\n")
    facts = folder / "facts.yaml"
    ran = steps(
        "a.yaml", "--facts", "facts.yaml", "-q", then=[lambda: facts.write_text("grov: 1\n"), lambda: facts.write_text("grove: false\n")]
    )
    assert ran.code == 130
    assert ran.out.count(BAD_RULE) == 2
    assert ran.err.count("1 file changed: facts.yaml") == 2
    assert ran.err.count("grov") >= 2  # what is wrong in it is said, and looked at again


def test_the_project_file_is_read_again_for_all_files(files: Files, steps: Steps) -> None:
    folder = files(a=BAD, b__b=BAD.replace("name: bad", "name: other"))
    project = folder / ".dynamo-webhooks.yaml"
    off = f"rules: {{{BAD_RULE}: {{severity: off, reason: x}}}}\n"
    ran = steps(
        "-q",
        "a.yaml",
        then=[
            lambda: project.write_text(off),  # a new one
            lambda: project.write_text("x: 1\n"),
            lambda: project.write_text(f"{off}line: 1.2  # mended\n"),
            project.unlink,
        ],
    )
    assert ran.code == 130
    assert [line for line in ran.err.splitlines() if line] == [
        "1 file changed: .dynamo-webhooks.yaml",
        "1 file changed: .dynamo-webhooks.yaml",
        "dynamo-webhooks check: .dynamo-webhooks.yaml:1: x: there is no such key; known here: paths, exclude, profile, line, facts, rules, "
        "baseline, outputs",
        "1 file changed: .dynamo-webhooks.yaml",
    ]
    assert [BAD_RULE in line for line in ran.out.splitlines()] == [True, True]  # at the start, and without the file


def test_paths_of_the_project_file_are_those_that_it_names_now(files: Files, steps: Steps) -> None:
    folder = files(a=BAD, b=BAD.replace("name: bad", "name: other"))
    project = folder / ".dynamo-webhooks.yaml"
    project.write_text("paths: [a.yaml]\n")
    ran = steps("-q", then=[lambda: project.write_text("paths: [b.yaml]  # now\n"), lambda: (folder / "b.yaml").write_text(BAD)])
    assert [line.partition(":")[0] for line in ran.out.splitlines()] == ["a.yaml", "b.yaml", "b.yaml"]


def test_a_file_that_the_project_file_names_is_looked_at_from_then_on(files: Files, steps: Steps) -> None:
    folder = files(a=BAD, facts="grove: true\n")
    project = folder / ".dynamo-webhooks.yaml"
    name_facts = lambda: project.write_text("facts: facts.yaml\n")  # noqa: E731 - a step
    ran = steps("a.yaml", "-q", then=[name_facts, lambda: None, lambda: (folder / "facts.yaml").write_text("grov: 1\n")])
    changes = [line for line in ran.err.splitlines() if line.startswith("1 file")]
    assert changes == ["1 file changed: .dynamo-webhooks.yaml", "1 file changed: facts.yaml"]
    assert ran.out.count(BAD_RULE) == 2


def test_show_config_shows_and_ends(command: Command, files: Files) -> None:
    files(a=BAD)
    assert command("check", "a.yaml", "--watch", "--show-config") == command("check", "a.yaml", "--show-config")


def test_notes_about_what_is_passed_over_are_said_once(files: Files, steps: Steps) -> None:
    folder = files(a=GOOD, chart__Chart="name: x\n")
    (folder / "chart" / "templates").mkdir()
    once = steps(".", then=[]).err
    assert "Chart" in once or "chart" in once
    assert steps(".", then=[lambda: None, lambda: None]).err == once


@pytest.mark.parametrize(
    "words", [("-",), ("a.yaml", "--fix"), ("a.yaml", "-k", "x"), ("--cluster",), ("a.yaml", "-o", "json"), ("a.yaml", "-o", "text=x")]
)
def test_what_can_not_be_watched_is_wrong_usage(command: Command, files: Files, words: tuple[str, ...]) -> None:
    files(a=GOOD)
    ran = command("check", *words, "--watch")
    assert (ran.code, ran.out, "--watch " in ran.err) == (2, "", True)


def test_reports_of_a_project_file_are_not_written(files: Files, steps: Steps) -> None:
    folder = files(a=BAD)
    (folder / ".dynamo-webhooks.yaml").write_text("outputs: {sarif: x.sarif}\n")
    assert steps("a.yaml", then=[]).code == 130
    assert not (folder / "x.sarif").exists()


def test_an_interrupt_ends_the_process_with_130(files: Files) -> None:
    folder = files(a=BAD)
    words = [sys.executable, "-m", "dynamo_webhooks.cli.main", "check", "a.yaml", "-q", "--watch"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        end = threading.Timer(60, process.kill)
        end.start()
        assert BAD_RULE in process.stdout.readline()
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        end.cancel()
    assert (process.returncode, err) == (130, "")
