"""Pages with commands: their outputs are made anew, everything else stays as people wrote it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.samples import BAD, BAD_RULE
from tools.manual.console import PageError, TerminalError, refresh, terminal

PARTS: dict[str, Callable[[], str]] = {"table": lambda: "| made |\n"}


def test_outputs_are_replaced_and_the_rest_stays_byte_for_byte() -> None:
    page = (
        "# Title  \n\n<!-- file: a/bad.yaml -->\n```yaml\n" + BAD + "```\n\nText.\n```console\n$ dynamo-webhooks check a -q\nold output\n"
        "more of it\n$ echo $?\n```\n\n\n```sh\n$ not run\n```\nend without a line end"
    )
    made = refresh(page, PARTS)
    head, _, tail = page.partition("old output\nmore of it\n")
    assert (
        made == f"{head}a/bad.yaml:10:7 error {BAD_RULE} (DYN202): {_sentence()}\n{tail.replace('$ echo $?', '$ echo $?' + chr(10) + '1')}"
    )
    assert refresh(made, PARTS) == made


def _sentence() -> str:
    return "spec.services[worker].ingress.host: must name a host while the ingress is enabled, got nothing"


def test_a_session_keeps_its_files_until_a_fresh_one_begins() -> None:
    page = "<!-- run: echo one > x -->\n```console\n$ cat x\n```\n<!-- fresh -->\n```console\n$ ls\n$ echo a | tr a b\n```\n"
    assert refresh(page, PARTS) == page.replace("$ cat x\n", "$ cat x\none\n").replace("a b\n", "a b\nb\n")


def test_made_parts_are_written_between_their_marks() -> None:
    page = "<!-- made: table -->\nold\n\n<!-- end -->\nafter\n"
    assert refresh(page, PARTS) == "<!-- made: table -->\n\n| made |\n\n<!-- end -->\nafter\n"


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("```console\n$ ls\n", "```console has no end"),
        ("<!-- made: table -->\nx\n", "has no end"),
        ("<!-- made: nothing -->\n<!-- end -->\n", "no generator has that name"),
        ("```console\n$ printf '```\\n'\n```\n", "one backtick more"),
    ],
)
def test_a_page_that_does_not_fit_together_is_named(page: str, sentence: str) -> None:
    with pytest.raises(PageError, match=sentence):
        refresh(page, PARTS)


def test_a_longer_fence_holds_a_shorter_one() -> None:
    page = "````console\n$ printf '```\\nx\\n```\\n'\n````\n"
    assert refresh(page, PARTS) == "````console\n$ printf '```\\nx\\n```\\n'\n```\nx\n```\n````\n"


def test_a_terminal_leaves_the_process_as_it_was_and_shows_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    before, here = dict(os.environ), Path.cwd()
    with terminal() as session:
        session.write("bad.yaml", BAD)
        own = session.run("dynamo-webhooks check bad.yaml")
        assert (
            session.code,
            "\033" in own,
            own.endswith("1 object checked by line 1.6 (the default; --line names another): 1 error\n"),
        ) == (1, False, True)
        assert session.run("dynamo-webhooks check bad.yaml | cat") == own  # the same through a shell
        assert session.run("dynamo-webhooks nonsense") == "dynamo-webhooks: unknown command nonsense; dynamo-webhooks --help lists all\n"
        assert session.code == 2
        with pytest.raises(TerminalError, match="where the session's folder is"):
            session.run("pwd")
    assert (dict(os.environ), Path.cwd()) == (before, here)
