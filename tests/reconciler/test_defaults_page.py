"""The page of default values: read off rendered objects, so it is held only to be complete. That it is current is tested with all pages."""

from __future__ import annotations

import re

import pytest

from dynamo_webhooks.reconciler.render.names import WORKERS
from tests.reconciler.cases import load_case, names, render_case
from tools.manual.defaults import TYPES, defaults_page
from tools.manual.defaults_text import grid, one_probe, tree

# what only a configuration or another object asks for
_ASKED_FOR = {"Ingress", "VirtualService", "DestinationRule", "PersistentVolumeClaim", "DynamoCheckpoint", "Job"}


def test_every_kind_that_is_made_without_being_asked_for_is_in_the_picture() -> None:
    made = {one["kind"] for name in names() for one in render_case(load_case(name)).children}
    shown = set(re.findall(r"^[ │├└─]*([A-Z]\w+) \S", defaults_page(), re.MULTILINE))
    assert made - _ASKED_FOR <= shown


def test_every_type_has_its_values() -> None:
    assert set(TYPES) >= WORKERS
    rows = [line for line in defaults_page().splitlines() if line.startswith("| `DYN_COMPONENT`")]
    assert len(rows) == len(TYPES)


def test_the_generation_is_not_written_down() -> None:
    """It changes with every default, and says nothing to a reader."""
    assert not re.search(r"\b[0-9a-f]{8}\b", defaults_page().replace("dynamo-model-c87c0c64", ""))


@pytest.mark.parametrize(
    ("probe", "text"),
    [
        (None, ""),
        ({"httpGet": {"path": "/a", "port": "b"}, "periodSeconds": 3}, "`GET /a` on `b`, every 3 s"),
        ({"grpc": {"port": 1, "service": "s"}, "failureThreshold": 2, "timeoutSeconds": 4}, "gRPC 1, `s`, in 4 s, failures: 2"),
    ],
)
def test_probes_in_words(probe: dict[str, object] | None, text: str) -> None:
    assert one_probe(probe) == text


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert grid(["a"], [["x | y"]]) == "| a |\n| --- |\n| x \\| y |\n"


def test_what_nobody_owns_stands_last_with_its_namespace() -> None:
    root = {"kind": "K", "metadata": {"name": "k"}}
    free = {"kind": "F", "metadata": {"name": "f", "namespace": "n"}}
    below = {"kind": "B", "metadata": {"name": "b", "ownerReferences": [{"kind": "A", "name": "a"}]}}
    middle = {"kind": "A", "metadata": {"name": "a", "ownerReferences": [{"kind": "K", "name": "k"}]}}
    assert tree(root, [free, below, middle]).splitlines() == ["K k", "└─ A a", "   └─ B b", "F f (in n, without owner)"]
