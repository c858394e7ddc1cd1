"""A component, beside the worked examples (tests/conversion/worked): saturation detectors, and that every member is claimed."""

from typing import Any

import pytest

from dynamo_webhooks.conversion.graph import SERVICE
from dynamo_webhooks.conversion.kind import LEFT, RIGHT, property_of
from dynamo_webhooks.conversion.lens.struct import DeclarationError, Struct
from tests.conversion.objects import GRAPH, away, made

Fields = dict[str, Any]


@pytest.mark.parametrize("version", [LEFT, RIGHT])
@pytest.mark.parametrize("detector", [{}, {"queueDepthThreshold": 5}, {"metricsStalenessThreshold": None}])
def test_a_saturation_detector_always_has_a_staleness_threshold(detector: Fields, version: str) -> None:
    """As for the Go operator; what its author left out is gone again at home, and an edit of the other version wins."""
    picker = {"config": {"plugins": [{"type": "t"}], "saturationDetector": detector}}
    spec: Fields = {"services": {"w": {"eppConfig": picker}}} if version == LEFT else {"components": [{"name": "w", "eppConfig": picker}]}
    graph = made(GRAPH, version, spec)
    there = away(graph)
    parts = there["spec"]["components"][0] if version == LEFT else there["spec"]["services"]["w"]
    found = parts["eppConfig"]["config"]["saturationDetector"]
    assert found == {**detector, "metricsStalenessThreshold": "0s"}
    assert away(there) == graph
    found["metricsStalenessThreshold"] = "2s"
    home = away(there)["spec"]
    part = home["services"]["w"] if version == LEFT else home["components"][0]
    assert part["eppConfig"]["config"]["saturationDetector"] == found


def test_every_member_of_a_service_is_claimed_once() -> None:
    left = set(property_of(GRAPH, LEFT, "spec", "services", "*")["properties"])
    right = set(property_of(GRAPH, RIGHT, "spec", "components", "*")["properties"])
    assert set(SERVICE.by_left) == left
    assert set(SERVICE.by_right) == right - {"name"}
    partial = Struct(*[lens for lens in SERVICE.lenses if "replicas" not in lens.left])
    with pytest.raises(DeclarationError, match="replicas"):
        partial.require("service", left, right - {"name"})
