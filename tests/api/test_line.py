"""Lines of the operator: their order, and what tells which one it is."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_webhooks.api.line import USUAL, Line, of_definition, of_version


def test_lines_compare_in_their_order() -> None:
    assert sorted(Line) == list(Line)
    assert Line.V1_2 < Line.V1_5


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("1.2.0", Line.V1_2),
        ("v1.2", Line.V1_2),
        ("1", Line.V1_2),
        ("1.3.1", Line.V1_2),
        ("1.4.9", Line.V1_2),
        ("1.5.0", Line.V1_5),
        ("v1.5.0-rc.1+x", Line.V1_5),
        ("1.10.0", Line.V1_5),
        ("2", Line.V1_5),
        ("0.9.0", Line.V1_2),
        ("", USUAL),
        ("main", USUAL),
    ],
)
def test_a_version_tells_its_line(version: str, line: Line) -> None:
    assert of_version(version) is line


@pytest.mark.parametrize(
    "crd",
    [
        None,
        [],
        {},
        {"spec": None},
        {"spec": {"versions": {"name": "v1beta1"}}},
        {"spec": {"versions": [None, 1, {"name": "v1alpha1"}]}},
        {"spec": {"versions": [{"name": "v1beta1", "schema": {"openAPIV3Schema": [1]}}]}},
    ],
)
def test_a_definition_without_a_schema_tells_none(crd: Any) -> None:
    assert of_definition(crd) is None
