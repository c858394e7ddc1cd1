"""Wrong command lines are answered in our words, whatever version of Python says it how."""

from __future__ import annotations

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.main import reword_argparse_error
from tests.cli.conftest import Command


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("the following arguments are required: --config", "--config must be given; me --help says more"),
        (
            "argument -o/--output: invalid choice: 'jsn' (choose from 'text', 'json')",
            "--output must be one of text, json, got jsn; did you mean json?",
        ),
        ("argument --op: invalid choice: 'x' (choose from create, update)", "--op must be one of create, update, got x"),
        ("argument --facts: expected one argument", "--facts must be followed by a value; me --help says which"),
        ("argument --debounce: invalid int value: 'x'", "--debounce must be a whole number, got x"),
        ("argument --drain-lag: invalid float value: '1s'", "--drain-lag must be a number, got 1s"),
        ('argument --listen: must be HOST:PORT, got "x"', '--listen: must be HOST:PORT, got "x"'),
        ("something new", "something new"),
    ],
)
def test_what_argparse_says_is_said_in_our_words(said: str, ours: str) -> None:
    assert reword_argparse_error(said, "me") == ours


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["completion"], "completion: shell must be given; dynamo-webhooks completion --help says more"),
        (["completion", "basch"], "shell must be one of bash, zsh, fish, kubectl, got basch; did you mean bash?"),
        (["check", "--line", "1.9"], f"--line: must be one of {', '.join(Line)}, got 1.9"),
        (["check", "--op"], "check: --op must be followed by a value"),
        (["rules", "-o", "yaml"], "rules: --output must be one of text, json, markdown, got yaml"),
        (["serve", "--drain-lag", "x"], "serve: --drain-lag must be a number, got x"),
        (["serve", "--workers", "2"], "serve: --workers: must be removed: a pod serves with one process; raise the replicas"),
        (["nonsens"], "dynamo-webhooks: unknown command nonsens; dynamo-webhooks --help lists all"),
        (["explain"], "explain: name a rule, a kind, a field or a message"),
    ],
)
def test_wrong_usage_is_one_sentence_on_stderr(command: Command, words: list[str], sentence: str) -> None:
    ran = command(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert sentence in ran.err
