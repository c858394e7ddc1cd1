"""No text that is made inert has a line that a CI runner obeys, and JSON and YAML keep their values."""

import json
import re
from time import process_time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_webhooks.cli.console.escaping import JSON, command_in, encode_json, inert
from dynamo_webhooks.cli.rewrite.emit import emit_json, emit_yaml
from tests.cli.runners import obeyed

PARTS = ("::", ":", "##", "#", "[", "vso", "teamcity", "section_start:1", "section_end:1")
BETWEEN = (" ", "\t", "\n", "\r", "\x1b[1m", "\u00a0", "a", "\\")
TEXTS = st.lists(st.sampled_from(PARTS + BETWEEN), max_size=12).map("".join)


def lines(text: str) -> list[str]:
    """The lines that a runner reads, without the colours that they begin with; those inside a command keep it from being one."""
    return [re.sub(r"^(?:\s|\x1b\[1m)+", "", line) for line in re.split("[\r\n]", text)]


@given(TEXTS)
def test_no_line_is_obeyed_and_nothing_else_changes(text: str) -> None:
    made = inert(text)
    assert not any(map(obeyed, lines(made)))
    assert made.replace(r"\x3a", ":").replace(r"\x23", "#").replace(r"\x73", "s") == text
    assert (made != text) == (command_in(text) is not None)
    assert inert(made) == made


@settings(max_examples=50)
@given(st.recursive(TEXTS, lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(TEXTS, inner, min_size=1, max_size=3)))
def test_data_keeps_its_values(data: object) -> None:
    for text in (encode_json(data), emit_json(data), inert(json.dumps(data), JSON)):
        assert json.loads(text) == data
        assert not any(map(obeyed, text.split("\n")))
    text = inert(emit_yaml(data))
    assert yaml.safe_load(text) == data
    assert not any(map(obeyed, lines(text)))


@pytest.mark.parametrize("part", ["\n", " ", "#", ":", "##a", "\x1b[1", "\n ", "section_start:", "##[", "\n::"])
def test_it_costs_as_much_as_the_text_is_long(part: str) -> None:
    began = process_time()
    assert inert("::##" + part * (200_000 // len(part)))
    assert process_time() - began < 5.0


def test_the_place_of_a_command_is_found() -> None:
    assert command_in("a::b\n\n  ::stop-commands::x\n") == (3, "::stop-commands::x")
    assert command_in("a: ##vso[b]\n") == (1, "##vso[b]")
