"""A file that would take longer than it may ends with a sentence, and the other files are worked on as ever."""

import json
import threading
from typing import Any, Final

import pytest

from dynamo_webhooks.cli.console.exits import REFUSED, UNREADABLE
from dynamo_webhooks.cli.files import budget
from tests.cli.conftest import Command, Files

# what ends within a call of the garbage collector is told there, and ends again a second later
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
_SPENT: Final = "takes more than 0.6 s of CPU, which is all that a file may have; split it, or make its objects smaller"


def _graph(name: str, **spec: Any) -> str:
    metadata = {"name": name, "namespace": "n"}
    return json.dumps({"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("check",), "fine.yaml:1:"),
        (("convert", "--to", "v1beta1"), '"fine"'),
        (("render",), "fine"),
        (("default", "-o", "yaml"), "fine"),
    ],
)
def test_a_costly_file_is_told_and_the_others_are_not_lost(
    command: Command, files: Files, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: str
) -> None:
    worker = {"componentType": "worker", "replicas": 1}
    costly = {**worker, "volumeMounts": [{}] * 800_000}
    where = files(costly=_graph("costly", services={"w": costly}), fine=_graph("fine", services={"w": worker}))
    command(*words, where / "fine.yaml")  # imports what it needs
    monkeypatch.setattr(budget, "MAX_FILE_SECONDS", 0.6)
    done = command(*words, where / "costly.yaml", where / "fine.yaml")
    assert done.code == UNREADABLE, done.err
    assert f"costly.yaml: {_SPENT}" in done.out + done.err
    assert expected in done.out


def test_two_objects_that_are_costly_to_compare_are_told(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    costly = {"componentType": "worker", "volumeMounts": [{}] * 800_000}
    where = files(old=_graph("g", services={"w": costly}), new=_graph("g", services={"w": {**costly, "replicas": 2}}))
    small = files(was=_graph("g", services={"w": {}}), now=_graph("g", services={"w": {"replicas": 2}}))
    command("diff", small / "was.yaml", small / "now.yaml")  # imports what it needs
    monkeypatch.setattr(budget, "MAX_FILE_SECONDS", 0.6)
    done = command("diff", where / "old.yaml", where / "new.yaml")
    assert done.code in (REFUSED, UNREADABLE), done.err  # comparing takes too long, or reading does already
    assert f".yaml: {_SPENT}" in done.out + done.err


def test_beside_the_main_thread_nothing_is_bounded() -> None:
    seen: list[int] = []

    def work() -> None:
        with budget.limit_cpu("file.yaml"):
            seen.append(sum(range(10_000_000)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen
