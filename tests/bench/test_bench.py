"""The parts of the measurements that are right or wrong whatever the clock says: the requests, the page, what is found too dear."""

import itertools
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import orjson
import pytest

from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.bench import compare, table
from tests.bench.requests import requests
from tests.webhooks.test_admission import SETTINGS


def test_what_is_measured_is_accepted() -> None:
    """A request that is refused before anything is done would be quick for the wrong reason."""
    for request in requests():
        response = orjson.loads(answer(ROUTES[request.path], request.body, SETTINGS).body)["response"]
        assert response.get("allowed") is True or len(response["convertedObjects"]) == request.objects, request.what


def test_a_section_is_written_and_the_others_and_its_words_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(table, "PAGE", tmp_path / "bench.md")
    table.PAGE.write_text("# Measurements\n\nWords.\n\n## Mine\n\nBy `make`.\n\n## Other\n\n| row |\n")
    for ours in ("1 ms", "2 ms"):
        measured = table.Table("Mine", "| what | a | b | ratio | goal |")
        measured.row("a request", ours, ratio=1.5)
        measured.write()
    before, mine, after = table.PAGE.read_text().partition("## Mine\n\nBy `make`.\n\nMeasured on ")
    assert (before, bool(mine)) == ("# Measurements\n\nWords.\n\n", True)
    head = "| what | a | b | ratio | goal |\n| --- | --- | --- | --- | --- |\n"
    assert after.endswith(f"interpreted.\n\n{head}| a request | 2 ms |  | 1.50 |  |\n\n## Other\n\n| row |\n")


def test_a_request_is_too_dear_if_it_is_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    ratios = {"validate v1alpha1": itertools.repeat(1.2), "convert v1beta1": iter((1.2, 1.0))}
    monkeypatch.setattr(compare, "apart", lambda *_: nullcontext())
    monkeypatch.setattr(compare.Pair, "costs", lambda _, request, alone: (next(ratios.get(request.what, iter((1.0,)))), 1.0, 1.0))
    server: Any = None
    assert compare.compare(table.Table("s"), compare.Pair(server, server, True)) == ["validate v1alpha1"]


def test_an_earlier_commit_has_files_of_its_own(tmp_path: Path) -> None:
    folder = compare.unpack(compare.find_last(), tmp_path / "earlier")
    assert (folder / "dynamo_webhooks" / "webhooks" / "process.py").resolve().is_relative_to(folder.resolve())
