"""The comparison with an earlier commit: what it asks, what it finds too dear, and the files that it compares with."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.bench import guard
from tests.bench.table import QUICK, Table
from tests.webhooks.test_admission import SETTINGS


def test_every_request_is_answered_as_wished() -> None:
    asked = list(guard.requests())
    assert len(asked) == len({what for what, *_ in asked}) == 8
    for what, path, body, count in asked:
        response = orjson.loads(answer(ROUTES[path], body, SETTINGS).body)["response"]
        assert response.get("allowed") is True or len(response["convertedObjects"]) == count, what


class Costs:
    """A pair of servers of which ours takes more by one request: always by `always`, only the first time by `once`."""

    always, once = "validate v1alpha1", "convert v1beta1"

    def __init__(self, *_servers: Any) -> None:
        self.bodies = {body: what for what, _, body, _ in guard.requests()}
        self.asked: list[str] = []

    def costs(self, _path: str, body: bytes, _times: int, _rounds: int) -> tuple[float, float, float]:
        what = self.bodies[body]
        self.asked.append(what)
        dear = what == self.always or (what == self.once and self.asked.count(what) == 1)
        return (0.0012, 0.001, 1.2) if dear else (0.001, 0.001, 1.0)


def test_what_costs_more_twice_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands: list[list[str]] = []

    def measured(command: list[str], _authority: Path) -> Any:
        commands.append(command)
        return nullcontext()

    @contextmanager
    def checkout(_commit: str, folder: Path) -> Iterator[Path]:
        known = folder / guard.EXAMPLES
        known.parent.mkdir(parents=True)
        known.write_text("facts: {lws: true}")
        yield folder

    for name, fake in (("Pair", Costs), ("Measured", measured), ("_checkout", checkout), ("apart", lambda *_: nullcontext())):
        monkeypatch.setattr(guard, name, fake)
    table, facts = Table(), tmp_path / "facts.yaml"
    facts.write_text("{lws: false, lpx: true}")
    wrong = guard.compare(table, QUICK, tmp_path, (Path("certs"), facts), "v1")
    assert yaml.safe_load(facts.read_text()) == {"lws": False}  # what the earlier commit knows, too
    assert wrong == "validate v1alpha1: must cost at most 1.05 times what v1 takes; see the rows above"
    assert [row.ratio for row in table.rows if row.ratio > guard.LIMIT] == [1.2]
    assert commands[1] == ["env", "-C", str(tmp_path / "earlier"), *commands[0]]


def test_an_earlier_commit_is_there_for_a_while(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(guard, "_ROOT", tmp_path)
    page = tmp_path / "docs" / "bench.md"
    page.parent.mkdir()
    (tmp_path / "conversion").mkdir()
    (tmp_path / "conversion" / "__init__.py").touch()
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e@example.com"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for text in ("old", "new"):
        page.write_text(text)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", text], check=True)
    written = guard.last()
    with guard._checkout("HEAD~1", tmp_path / "earlier") as earlier:
        assert (earlier / "docs" / "bench.md").read_text() == "old"
        where = subprocess.run([sys.executable, "-c", guard._WHERE], cwd=earlier, capture_output=True, text=True, check=True)
        assert where.stdout.strip() == str(earlier / "dynamo_webhooks" / "conversion")
    assert not earlier.exists()
    subprocess.run([*git, "tag", "v1", written], check=True)
    assert guard.last() == "v1"
