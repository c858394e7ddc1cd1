"""Lines of the operator: their order, and what tells which one it is."""

from typing import Any

import pytest

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.line import NEWEST, UNTOLD, Line, decide_line, is_beyond, of_definition


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("1.2.0", Line.V1_2),
        ("v1.2", Line.V1_2),
        ("1", Line.V1_2),
        ("1.3.1", Line.V1_3),
        ("1.4.9", Line.V1_4),
        ("1.4.0-rc1", Line.V1_4),
        ("1.5.0", Line.V1_5),
        ("v1.5.0-rc.1+x", Line.V1_5),
        ("1.6.1", Line.V1_6),
        ("1.10.0", NEWEST),
        ("2", NEWEST),
        ("0.9.0", Line.V1_2),
        ("", UNTOLD),
        ("0.0.0", UNTOLD),
        ("0.0.0-dev", UNTOLD),
        ("main", UNTOLD),
    ],
)
def test_a_version_tells_its_line(version: str, line: Line) -> None:
    assert decide_line(version) is line


def test_a_released_version_goes_before_the_definition_and_a_development_build_behind_it() -> None:
    crd = build("DynamoGraphDeployment", line=Line.V1_3)
    assert [decide_line(version, crd) for version in ("1.2.0", "0.0.0", "dev", "")] == [Line.V1_2, *[Line.V1_3] * 3]


def test_versions_beyond_the_newest_line_are_known_to_be() -> None:
    assert [is_beyond(version) for version in (f"{NEWEST}.9", "1.99.0", "dev", "")] == [False, True, False, False]


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
