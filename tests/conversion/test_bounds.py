"""No remainder is so long that an object, or a list that it is in, can't be read in the other version; and nothing is lost for that.

What an object weighs in its kind's other version: which field, how many bytes, and whether that still fits.
"""

import base64
import json
import random
import zlib
from typing import Any

import pytest

from dynamo_webhooks.api.paths import MISSING, format_path, lookup
from dynamo_webhooks.conversion.bounds import MAX_ANNOTATION_BYTES, TOO_LONG, annotation_size, compress, decompress
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.weight import WARNING_BYTES, Weight, weigh
from tests.conversion.objects import GRAPH, Object, away, made
from tests.rows import run_each

SPEC = "nvidia.com/dgd-spec"


def noise(length: int) -> str:
    dice = random.Random(length)  # noqa: S311 - text that can't be compressed much, the same every time
    return base64.b64encode(dice.randbytes(length), b"_-").decode()[:length]


def _named_by(text: str) -> Object:
    return {"podTemplate": {"metadata": {"generateName": text}, "spec": {"containers": [{"name": "main"}]}}}


def _graph(note: str, **metadata: object) -> Object:
    graph = made(GRAPH, LEFT, {"services": {"w": {"annotations": {"note": note}}}})
    graph["metadata"].update(metadata)
    return graph


def test_a_long_remainder_is_packed_and_comes_home(subtests: pytest.Subtests) -> None:
    rows: list[int] = [MAX_ANNOTATION_BYTES - 2000, MAX_ANNOTATION_BYTES - 100, MAX_ANNOTATION_BYTES, 300_000, 1_300_000]
    graphs = [*(_graph("x" * length) for length in rows), made(GRAPH, RIGHT, {"components": [{"name": "w", **_named_by("x" * 400_000)}]})]
    for number, graph in enumerate(graphs):
        with subtests.test(number=number):
            there = away(graph)
            assert annotation_size(there["metadata"]["annotations"]) <= MAX_ANNOTATION_BYTES
            assert TOO_LONG not in there["metadata"].get("labels", {})
            assert away(there) == graph


def test_what_cannot_be_packed_is_readable_and_is_never_written_back() -> None:
    graph = _graph(noise(500_000), labels={"a": "b"})
    there = away(graph)
    assert there["spec"] == {"components": [{"name": "w"}]}
    assert "annotations" not in there["metadata"]
    assert there["metadata"]["labels"] == {"a": "b", TOO_LONG: "too-long"}
    with pytest.raises(ConversionError, match=r"must not be written or deleted in this version, .* use v1alpha1"):
        away(there)


def test_annotations_of_the_author_leave_no_room_for_a_mark() -> None:
    """Where nothing would be lost, nothing is said."""
    graph = made(GRAPH, LEFT, {"services": {"w": {"replicas": 1}}})
    graph["metadata"]["annotations"] = {"n": "x" * (MAX_ANNOTATION_BYTES - 1)}
    there = away(graph)
    assert there["metadata"] == graph["metadata"]
    assert away(there) == graph


def test_a_text_that_is_set_aside_under_a_longer_name_may_not_fit() -> None:
    """Whoever writes it can't break a list by that."""
    graph = made(GRAPH, LEFT, {"services": {"w": {"replicas": 1}}})
    graph["metadata"]["annotations"] = {SPEC: "x" * (MAX_ANNOTATION_BYTES - len(SPEC))}
    there = away(graph)
    assert there["metadata"] == {"name": "x", "labels": {TOO_LONG: "too-long"}}


def test_annotations_of_older_operators_may_not_fit() -> None:
    there = away(made("DynamoGraphDeploymentRequest", RIGHT, {"model": "m"}, status={"profilingJobName": "x" * MAX_ANNOTATION_BYTES}))
    assert there["metadata"].get("annotations", {}) == {}
    assert there["metadata"]["labels"] == {TOO_LONG: "too-long"}


def test_what_was_packed_by_others_is_read_with_care() -> None:
    assert decompress(3, MAX_ANNOTATION_BYTES) is None
    assert decompress("no base64", MAX_ANNOTATION_BYTES) is None
    assert decompress(base64.b64encode(b"no zlib").decode(), MAX_ANNOTATION_BYTES) is None
    assert decompress(base64.b64encode(zlib.compress(b"0" * (17 * 1024 * 1024))).decode(), MAX_ANNOTATION_BYTES) is None
    assert decompress(base64.b64encode(zlib.compress(b"{}") + b"more").decode(), MAX_ANNOTATION_BYTES) is None
    assert '"packed"' in compress("{}")
    graph = made(GRAPH, RIGHT, {"components": [{"name": "w"}]})
    graph["metadata"]["annotations"] = {SPEC: '{"packed":"!","spec":{},"version":1}'}
    assert away(graph)["metadata"]["annotations"]["nvidia.com/dynamo-webhooks-aside.dgd-spec"] == '{"packed":"!","spec":{},"version":1}'


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"a":[' + "{}," * 400_000 + "{}]}",
        '{"a":[' + "1," * 600_000 + "1]}",
        '{"a":"' + "," * 1_200_000 + '"}',
        '{"a":"' + "x" * 3_000_000 + '"}',
        '{"a":"' + noise(900_000) + '"}',
        json.dumps([{"name": f"v{index}", "mountPath": f"/m{index}"} for index in range(30_000)]),
    ],
    ids=lambda text: text[:8],
)
def test_whatever_is_packed_is_read(text: str) -> None:
    """The budget of a reader is what a writer needs for an object of the size limit, however dense its values are."""
    packed = compress(text)
    assert decompress(json.loads(packed)["packed"], len(packed)) == text


def test_a_short_text_of_very_many_values_is_set_aside() -> None:
    """Values take longer to convert than letters, so `{}` may not be packed as densely as text."""
    envelope = json.dumps({"version": 1, "spec": {}, "kept": [[["spec", "pvcs"], [{}] * 100_000]]})
    graph = made(GRAPH, RIGHT, {"components": [{"name": "w"}]})
    graph["metadata"]["annotations"] = {SPEC: compress(envelope).rstrip().ljust(len(envelope) // 16 + 1)}
    assert "nvidia.com/dynamo-webhooks-aside.dgd-spec" in away(graph)["metadata"]["annotations"]
    graph["metadata"]["annotations"] = {SPEC: compress(envelope)}
    assert len(away(graph)["spec"]["pvcs"]) == 100_000


def test_a_short_annotation_never_costs_as_much_as_a_long_one() -> None:
    """Zeros are packed into a thousandth: somebody could store thousands of such objects, whose lists nobody could read any more."""
    text = '{"spec":{},"version":1' + " " * 1_000_000 + "}"
    content = base64.b64encode(zlib.compress(text.encode())).decode()
    short = f'{{"packed":"{content}","spec":{{}},"version":1}}'
    graph = made(GRAPH, RIGHT, {"components": [{"name": "w"}]})
    graph["metadata"]["annotations"] = {SPEC: short}
    assert away(graph)["metadata"]["annotations"]["nvidia.com/dynamo-webhooks-aside.dgd-spec"] == short
    assert len(compress(text)) > len(text) // 16


def test_the_label_on_a_stored_object_breaks_no_list() -> None:
    """A tenant can write it; only storing is refused."""
    graph = _graph("short", labels={TOO_LONG: "too-long"})
    there = away(graph)
    assert there["metadata"]["labels"] == graph["metadata"]["labels"]
    with pytest.raises(ConversionError, match="must not be written or deleted in this version"):
        away(there)


def test_nothing_is_dropped_on_the_way_to_the_stored_version() -> None:
    """The API server refuses a write whose annotations are too long."""
    graph = made(GRAPH, RIGHT, {"components": [{"name": "w", **_named_by(noise(400_000))}]})
    there = away(graph)
    assert annotation_size(there["metadata"]["annotations"]) > MAX_ANNOTATION_BYTES
    assert TOO_LONG not in there["metadata"].get("labels", {})
    assert away(there) == graph


def test_finalizers_of_an_object_on_its_way_out_may_go() -> None:
    """A namespace is deleted in the version that the API server prefers, whatever its objects hold."""
    there = away(_graph(noise(500_000), finalizers=["a/b"]))
    there["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []}
    assert away(there)["metadata"]["finalizers"] == []


NAMED = {"name": "main"}


def _weighed(obj: Object, version: str) -> Weight | None:
    weight = weigh(KINDS[GRAPH], obj, version)
    assert weight is None or lookup(obj, weight.path) is not MISSING
    return weight


def _weighty(spec: dict[str, Any], **annotations: str) -> Object:
    graph = made(GRAPH, LEFT, spec)
    graph["metadata"]["annotations"] = annotations
    return graph


def _left(length: int) -> dict[str, Any]:
    return {"services": {"small": {"labels": {"a": "b"}}, "w": {"annotations": {"note": noise(length), "b": "c"}}}}


def _template(length: int) -> dict[str, Any]:
    return {"metadata": {"finalizers": [noise(length)]}, "spec": {"containers": [NAMED]}}


@run_each(
    "obj",
    [
        *(_weighty(_left(length)) for length in (1000, WARNING_BYTES - 2000)),
        *(_weighty({"services": {"w": {"annotations": {"note": "x" * length}}}}) for length in (200_000, 1_000_000)),
        _weighty({}, note=noise(MAX_ANNOTATION_BYTES - 100)),
    ],
    ("small", "light", "packs well", "is packed", "annotations of the author alone"),
)
def test_what_is_in_no_danger_is_not_mentioned(obj: Object) -> None:
    assert _weighed(obj, LEFT) is None


def test_what_comes_near_is_said_with_field_size_and_version() -> None:
    weight = _weighed(_weighty(_left(WARNING_BYTES)), LEFT)
    assert weight is not None
    assert (format_path(weight.path), weight.refused) == ("spec.services[w].annotations[note]", False)
    assert weight.text == "takes 129 of 256 KiB of annotations in v1beta1; more is refused"


def test_what_does_not_fit_is_shown_in_part_and_only_then() -> None:
    """The sentence, and what conversion does, change at the same length."""
    shown = 0
    for length in range(MAX_ANNOTATION_BYTES - 12_000, MAX_ANNOTATION_BYTES + 4_000, 500):
        graph = _weighty(_left(length))
        weight, labels = _weighed(graph, LEFT), away(graph)["metadata"].get("labels", {})
        assert weight is not None
        assert weight.text.startswith("must be smaller") is weight.refused is (TOO_LONG in labels) is (weight.bytes > MAX_ANNOTATION_BYTES)
        shown += TOO_LONG not in labels
    assert 0 < shown < 32


def test_an_update_of_what_is_too_long_already_is_forgiven() -> None:
    """But never in the version that isn't stored: such an object can't be, and the API server would refuse it."""
    kind, long = KINDS[GRAPH], _weighty(_left(MAX_ANNOTATION_BYTES))
    for old, forgiven in (
        (_weighty(_left(MAX_ANNOTATION_BYTES + 1)), True),
        (_weighty(_left(MAX_ANNOTATION_BYTES - 12_000)), False),
        (_weighty({}), False),
        (None, False),
    ):
        weight = weigh(kind, long, LEFT, old)
        assert weight is not None
        assert (weight.forgiven, weight.refused) == (forgiven, not forgiven)
        share = "259 of 256 KiB of annotations"
        assert weight.text == f"must be smaller: {f'{share} in v1beta1; read-only there' if forgiven else f'in v1beta1 it needs {share}'}"
    owned = {**long, "metadata": {**long["metadata"], "ownerReferences": [None, {"kind": GRAPH, "name": "g"}]}}
    weight = weigh(kind, owned, LEFT)
    assert weight is not None
    assert weight.forgiven
    beta = made(GRAPH, RIGHT, {"components": [{"name": "z", "podTemplate": _template(300_000)}]})
    weight = weigh(kind, beta, RIGHT, beta)
    assert weight is not None
    assert weight.refused


def test_a_write_in_the_version_that_is_not_stored_is_refused_by_the_api_server() -> None:
    graph = made(GRAPH, RIGHT, {"components": [{"name": "y"}, {"name": "z", "podTemplate": _template(300_000)}]})
    weight = _weighed(graph, RIGHT)
    assert weight is not None
    assert weight.refused
    assert annotation_size(away(graph)["metadata"]["annotations"]) == weight.bytes > MAX_ANNOTATION_BYTES
    assert format_path(weight.path) == "spec.components[1].podTemplate.metadata.finalizers[0]"
    assert weight.text == f"must be smaller: in v1alpha1 it needs {-(-weight.bytes // 1024)} of 256 KiB of annotations"


def test_the_same_near_the_bound_is_stored() -> None:
    weight = _weighed(made(GRAPH, RIGHT, {"components": [{"name": "z", "podTemplate": _template(200_000)}]}), RIGHT)
    assert weight is not None
    assert not weight.refused
    assert weight.text == "takes 196 of 256 KiB of annotations in v1alpha1; more is refused"


LONG_TEXT = noise(180_000)
SPREAD: dict[str, tuple[str, Any]] = {
    "spec.services": (LEFT, {"services": {f"s{number}": {"annotations": {"a": noise(1000 + number)}} for number in range(200)}}),
    "spec.services[w].labels": (LEFT, {"services": {"w": {"labels": {LONG_TEXT[at : at + 60]: "" for at in range(0, 180_000, 60)}}}}),
    "spec.pvcs": (LEFT, {"pvcs": [{"name": noise(1000 + number)} for number in range(200)]}),
    "spec.pvcs[1].name": (LEFT, {"pvcs": [{"name": "a"}, {"name": noise(200_000)}]}),
    "spec.components": (RIGHT, {"components": [{"name": noise(1000 + number)} for number in range(200, 0, -1)]}),
}


def test_the_field_is_the_smallest_that_holds_half(subtests: pytest.Subtests) -> None:
    for path, (version, spec) in SPREAD.items():
        with subtests.test(path=path):
            weight = _weighed(made(GRAPH, version, spec), version)
            assert weight is not None
            assert format_path(weight.path) == path


def test_an_annotation_of_the_author_may_weigh_most() -> None:
    weight = _weighed(_weighty({"services": {"w": {"labels": {"a": "b"}}}}, note=noise(MAX_ANNOTATION_BYTES - 60)), LEFT)
    assert weight is not None
    assert (format_path(weight.path), weight.bytes > MAX_ANNOTATION_BYTES) == ("metadata.annotations[note]", True)
