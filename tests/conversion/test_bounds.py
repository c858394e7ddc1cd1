"""No remainder is so long that an object, or a list that it is in, can't be read in the other version; and nothing is lost for that."""

import base64
import random
import string
import zlib

import pytest

from dynamo_webhooks.conversion.bounds import MOST, TOO_LONG, annotation_size, compress, decompress
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from tests.conversion.objects import GRAPH, Object, away, made

SPEC = "nvidia.com/dgd-spec"


def noise(length: int) -> str:
    dice = random.Random(length)  # noqa: S311 - text that can't be compressed much, the same every time
    return "".join(dice.choices(string.ascii_letters + string.digits, k=length))


def _graph(note: str, **metadata: object) -> Object:
    graph = made(GRAPH, LEFT, {"services": {"w": {"annotations": {"note": note}}}})
    graph["metadata"].update(metadata)
    return graph


@pytest.mark.parametrize("length", [MOST - 2000, MOST - 100, MOST, 300_000, 1_300_000])
def test_a_long_remainder_is_packed_and_comes_home(length: int) -> None:
    graph = _graph("x" * length)
    there = away(graph)
    assert annotation_size(there["metadata"]["annotations"]) <= MOST
    assert TOO_LONG not in there["metadata"].get("labels", {})
    assert away(there) == graph


def test_a_short_remainder_is_not_packed() -> None:
    assert '"packed"' not in away(_graph("x" * 1000))["metadata"]["annotations"][SPEC]


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
    graph["metadata"]["annotations"] = {"n": "x" * (MOST - 1)}
    there = away(graph)
    assert there["metadata"] == graph["metadata"]
    assert away(there) == graph


def test_a_text_that_is_set_aside_under_a_longer_name_may_not_fit() -> None:
    """Whoever writes it can't break a list by that."""
    graph = made(GRAPH, LEFT, {"services": {"w": {"replicas": 1}}})
    graph["metadata"]["annotations"] = {SPEC: "x" * (MOST - len(SPEC))}
    there = away(graph)
    assert there["metadata"] == {"name": "x", "labels": {TOO_LONG: "too-long"}}


def test_annotations_of_older_operators_may_not_fit() -> None:
    there = away(made("DynamoGraphDeploymentRequest", RIGHT, {"model": "m"}, status={"profilingJobName": "x" * MOST}))
    assert there["metadata"].get("annotations", {}) == {}
    assert there["metadata"]["labels"] == {TOO_LONG: "too-long"}


def test_the_other_direction_is_bounded_too() -> None:
    component = {"name": "w", "podTemplate": {"metadata": {"generateName": "x" * 400_000}, "spec": {"containers": [{"name": "main"}]}}}
    graph = made(GRAPH, RIGHT, {"components": [component]})
    there = away(graph)
    assert annotation_size(there["metadata"]["annotations"]) <= MOST
    assert away(there) == graph


def test_what_was_packed_by_others_is_read_with_care() -> None:
    assert decompress(3, MOST) is None
    assert decompress("no base64", MOST) is None
    assert decompress(base64.b64encode(b"no zlib").decode(), MOST) is None
    assert decompress(base64.b64encode(zlib.compress(b"0" * (17 * 1024 * 1024))).decode(), MOST) is None
    assert '"packed"' in compress("{}")
    graph = made(GRAPH, RIGHT, {"components": [{"name": "w"}]})
    graph["metadata"]["annotations"] = {SPEC: '{"packed":"!","spec":{},"version":1}'}
    assert away(graph)["metadata"]["annotations"]["nvidia.com/dynamo-webhooks-aside.dgd-spec"] == '{"packed":"!","spec":{},"version":1}'


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
    component = {"name": "w", "podTemplate": {"metadata": {"generateName": noise(400_000)}, "spec": {"containers": [{"name": "main"}]}}}
    graph = made(GRAPH, RIGHT, {"components": [component]})
    there = away(graph)
    assert annotation_size(there["metadata"]["annotations"]) > MOST
    assert TOO_LONG not in there["metadata"].get("labels", {})
    assert away(there) == graph


def test_finalizers_of_an_object_on_its_way_out_may_go() -> None:
    """A namespace is deleted in the version that the API server prefers, whatever its objects hold."""
    there = away(_graph(noise(500_000), finalizers=["a/b"]))
    there["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []}
    assert away(there)["metadata"]["finalizers"] == []
