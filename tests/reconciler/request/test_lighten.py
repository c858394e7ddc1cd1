"""What is kept of a stored request's status: a digest of its result, whatever that is."""

from typing import Any

from dynamo_webhooks.reconciler.request.phases import lighten


def nested(levels: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for _ in range(levels):
        out = {"a": out}
    return out


def kept(results: dict[str, Any]) -> Any:
    request = {"metadata": {"name": "r"}, "status": {"phase": "Ready", "profilingResults": results}}
    lighten(request)
    return request["status"]


def test_a_result_becomes_a_digest() -> None:
    first, same, other = kept({"a": 1, "b": 2}), kept({"b": 2, "a": 1}), kept({"a": 2})
    assert first == same == {"phase": "Ready", "profilingResults": first["profilingResults"]}
    assert len(first["profilingResults"]) == 16
    assert other != first


def test_a_result_of_any_depth_keeps_no_other_request_from_being_read() -> None:
    status = kept(nested(1020))  # the decoder reads 1,024 levels
    assert status["phase"] == "Ready"
    assert isinstance(status["profilingResults"], str)
