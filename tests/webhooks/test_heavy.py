"""What admission says of objects that are too long, or nearly, for the kind's other version, and what that costs all others."""

from __future__ import annotations

from typing import Any, Final

import pytest

from conversion import weight
from conversion.bounds import TOO_LONG
from conversion.engine import convert
from conversion.kinds import KINDS
from policies.review import V1_2, Review
from tests.conversion.test_bounds import noise
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.test_admission import FACTS, ask, refusal, response
from tests.webhooks.test_both_versions import WORKER, beta_graph
from webhooks import heavy
from webhooks.admission import Settings
from webhooks.routes import Purpose, path_of

GRAPH: Final = "DynamoGraphDeployment"
BETA_GRAPHS: Final = path_of(GRAPH, "v1beta1", Purpose.VALIDATE)
HALF, FULL = 140_000, 300_000


def _graph(length: int) -> dict[str, Any]:
    obj = graph()
    obj["spec"]["services"]["worker"]["annotations"] = {"note": noise(length)}
    return obj


def _beta(length: int) -> dict[str, Any]:
    template = {"metadata": {"finalizers": [noise(length)]}, "spec": {"containers": [{"name": "main"}]}}
    return beta_graph({"name": "a", "type": "worker"}, {**WORKER, "podTemplate": template})


def test_what_comes_near_is_a_warning() -> None:
    told = response(ask(review(_graph(HALF))))
    assert told["allowed"] is True
    (warning,) = told["warnings"]
    assert warning.startswith("spec.services[worker].annotations[note]: takes 138 of 256 KiB of annotations in v1beta1; past that it is ")


def test_what_does_not_fit_is_stored_with_a_warning_on_create_and_update() -> None:
    for operation, old in (("CREATE", None), ("UPDATE", _graph(FULL))):
        found = ask(review(_graph(FULL), operation, old))
        told = response(found)
        assert told["allowed"] is True
        field = "spec.services[worker].annotations[note]: "
        assert told["warnings"] == [f"{field}must be smaller: 295 of 256 KiB of annotations in v1beta1; read-only there"]
        assert found.verdict.rules == ("long-remainder",)


def test_a_write_that_the_api_server_would_refuse_is_refused_with_field_and_size() -> None:
    status = refusal(ask(review(_beta(FULL)), BETA_GRAPHS), 422)
    (cause,) = status["details"]["causes"]
    assert cause["field"] == "spec.components[1].podTemplate.metadata.finalizers[0]"
    assert cause["message"] == "must be smaller: stored in v1alpha1 it needs 295 of 256 KiB of annotations [long-remainder]"
    assert response(ask(review(_beta(HALF)), BETA_GRAPHS))["warnings"] == [
        "spec.components[1].podTemplate.metadata.finalizers[0]: takes 137 of 256 KiB of annotations in v1alpha1; past that it is…"
    ]


def test_it_comes_with_the_findings_of_the_policies() -> None:
    obj = _beta(FULL)
    obj["spec"]["components"][0]["replicas"] = -1
    fields = [cause["field"] for cause in refusal(ask(review(obj), BETA_GRAPHS), 422)["details"]["causes"]]
    assert fields == ["spec.components[0].replicas", "spec.components[1].podTemplate.metadata.finalizers[0]"]


@pytest.mark.parametrize("path", [GRAPHS, BETA_GRAPHS])
def test_an_object_on_its_way_out_and_profile_1_2_hear_nothing(path: str) -> None:
    obj = _graph(FULL) if path == GRAPHS else _beta(FULL)
    assert "warnings" not in response(ask(review(obj), path, Settings(FACTS, V1_2)))
    obj["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []}
    assert response(ask(review(obj, "UPDATE", obj), path)) == {"uid": "u-1", "allowed": True, "status": {"code": 200}}


def test_what_was_shown_in_part_is_not_written_back() -> None:
    there = convert(KINDS[GRAPH], _graph(FULL), "v1beta1").object
    status = refusal(ask(review(there, "UPDATE", there), BETA_GRAPHS), 422)
    (cause,) = status["details"]["causes"]
    assert cause["field"] == f"metadata.labels.{TOO_LONG}"
    assert cause["message"] == "must not be written in this version, which can't hold all that the object says: write it in v1alpha1"
    there["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert response(ask(review(there, "UPDATE", there), BETA_GRAPHS))["allowed"] is True


@pytest.mark.parametrize("path", [GRAPHS, BETA_GRAPHS])
def test_a_short_object_is_not_converted_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where the request is long: the old object and the owners of fields count for nothing."""
    monkeypatch.delattr(weight, "convert")
    obj, old = (_graph(1000), _graph(60_000)) if path == GRAPHS else (_beta(1000), _beta(60_000))
    obj["metadata"]["managedFields"] = [{"manager": "m", "fieldsV1": {f"f:{number}": {} for number in range(10_000)}}]
    assert "warnings" not in response(ask(review(obj, "UPDATE", old), path))
    with pytest.raises(NameError):
        heavy.long_remainder(Review(f"{GRAPH}/v1alpha1", "CREATE", _graph(70_000), None), 70_000)
