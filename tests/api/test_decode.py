"""The typed decoder accepts what a typed reader can read, and names every place that it can't, without a value."""

from typing import Any

import pytest

from dynamo_webhooks.api.decode import MAX_ERRORS, compile_decoder, decoder
from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.walk.errors import Reason

GRAPH = decoder("DynamoGraphDeployment", "v1alpha1")


def graph(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}, "spec": spec}


def service(**fields: Any) -> dict[str, Any]:
    return graph(services={"w": fields})


def places(value: object) -> list[tuple[str, Reason]]:
    return [(error.field, error.reason) for error in GRAPH(value)]


def test_every_kind_and_version_has_a_decoder(subtests: pytest.Subtests) -> None:
    """An empty object of the kind is well-typed, one of another kind or version is not."""
    for kind, version in list_kind_versions():
        with subtests.test(kind=kind, version=version):
            decode = decoder(kind, version)
            assert decode({}) == ()
            assert decode({"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": None, "spec": None}) == ()
            assert [error.field for error in decode({"apiVersion": "nvidia.com/v2", "kind": "Pod"})] == ["apiVersion", "kind"]


def test_what_no_typed_reader_can_read_is_named() -> None:
    rows: list[tuple[object, str, Reason]] = [  # all that is accepted, and what of all kinds is refused, is among the recorded answers
        (None, "", Reason.TYPE_INVALID),
        ([], "", Reason.TYPE_INVALID),
        ({"spec": []}, "spec", Reason.TYPE_INVALID),
        ({"kind": 5}, "kind", Reason.TYPE_INVALID),
        ({"kind": "Pod"}, "kind", Reason.INVALID),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels[a]", Reason.TYPE_INVALID),
        ({"metadata": {"name": 1}}, "metadata.name", Reason.TYPE_INVALID),
        ({"metadata": {"deletionTimestamp": "now"}}, "metadata.deletionTimestamp", Reason.INVALID),
        ({"metadata": {"deletionTimestamp": "2026-13-01T00:00:00Z"}}, "metadata.deletionTimestamp", Reason.INVALID),
        (service(replicas="1"), "spec.services[w].replicas", Reason.TYPE_INVALID),
        (service(replicas=True), "spec.services[w].replicas", Reason.TYPE_INVALID),
        (service(replicas=1.0), "spec.services[w].replicas", Reason.INVALID),
        (service(replicas=2**31), "spec.services[w].replicas", Reason.INVALID),
        (service(resources={"limits": {"gpu": 1}}), "spec.services[w].resources.limits.gpu", Reason.TYPE_INVALID),
        (service(sharedMemory={"size": "big"}), "spec.services[w].sharedMemory.size", Reason.INVALID),
        (service(sharedMemory={"size": True}), "spec.services[w].sharedMemory.size", Reason.TYPE_INVALID),
        (service(livenessProbe={"httpGet": {"port": 2**31}}), "spec.services[w].livenessProbe.httpGet.port", Reason.INVALID),
        (service(envs=[{"name": "a"}, []]), "spec.services[w].envs[1]", Reason.TYPE_INVALID),
        (
            service(extraPodSpec={"mainContainer": {"args": [5]}}),
            "spec.services[w].extraPodSpec.mainContainer.args[0]",
            Reason.TYPE_INVALID,
        ),
        (service(extraPodSpec={"tolerations": "x"}), "spec.services[w].extraPodSpec.tolerations", Reason.TYPE_INVALID),
        (graph(restart={"id": "a", "strategy": {"order": "w"}}), "spec.restart.strategy.order", Reason.TYPE_INVALID),
        (
            graph(experimental={"kvTransferPolicy": {"preferredWeight": 1e39}}),
            "spec.experimental.kvTransferPolicy.preferredWeight",
            Reason.INVALID,
        ),
        (
            service(eppConfig={"config": {"saturationDetector": {"metricsStalenessThreshold": "soon"}}}),
            "spec.services[w].eppConfig.config.saturationDetector.metricsStalenessThreshold",
            Reason.INVALID,
        ),
    ]
    assert [(field, errors) for value, field, reason in rows if (errors := places(value)) != [(field, reason)]] == []


def test_all_wrong_places_are_named_up_to_a_limit_and_no_value_is_told() -> None:
    errors = GRAPH(service(replicas="s3cret", envs=[{"name": ["s3cret"]}], sharedMemory={"size": "s3cret"}))
    assert len(errors) == 3
    assert all("s3cret" not in f"{error.message}{error.field}" for error in errors)
    assert len(GRAPH(graph(services={f"w{index}": {"replicas": "x"} for index in range(10_000)}))) == MAX_ERRORS


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_depth_is_no_danger(opening: str) -> None:
    """Nesting deeper than the interpreter's stack is either free-form, and skipped, or wrong at its first level."""
    deep: Any = 1
    for _ in range(20_000):
        deep = [deep] if opening == "[" else {"a": deep}
    assert GRAPH(service(eppConfig={"config": {"free": deep}})) == ()
    assert [error.path for error in GRAPH(service(componentType=deep))] == [("spec", "services", "w", "componentType")]


def test_every_form_of_a_schema_is_decoded(subtests: pytest.Subtests) -> None:
    rows: list[tuple[dict[str, Any], list[object], list[object]]] = [
        ({"type": "string", "format": "byte"}, ["", "aGk="], ["!", "aGk", 5]),
        ({"type": "integer"}, [2**63 - 1, -(2**63)], [2**63, 1.5, "1"]),
        ({"type": "number"}, [1, 1.5, 1e300], ["1", True]),
        ({"type": "number", "format": "float"}, [3e38], [4e38, -4e38]),
        ({"type": "boolean"}, [True, None], [0, "true"]),
        ({"type": "string", "format": "date-time"}, ["2026-01-01T00:00:00Z"], ["2026-01-01", "2026-02-30T00:00:00Z", 5]),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer", "format": "int32"}}}, [[[1], None]], [[1], [["x"]]]),
        ({"x-kubernetes-preserve-unknown-fields": True}, [1, "a", [[]]], []),
    ]
    for form, good, bad in rows:
        with subtests.test(str((form, good))):
            decode = compile_decoder({"type": "object", "properties": {"x": form}}, kind="K", api_version="g/v1")
            assert [value for value in good if decode({"x": value})] == []
            assert [value for value in bad if not decode({"x": value})] == []
