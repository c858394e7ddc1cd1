"""Names of adapters in URLs and in the annotation, and whose an adapter is."""

import pytest

from dynamo_webhooks.reconciler.model.lora import LOADED, InvalidNameError, encode_names, is_lora, lora_of, owner_of, path_of, read_names
from tests.reconciler.model.workers import model


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("simple", "simple"),
        ("org/name", "org/name"),
        ("a b", "a%20b"),
        ("a?b=c", "a%3Fb=c"),
        ("a#b", "a%23b"),
        ("ünï", "%C3%BCn%C3%AF"),
        ("a%2Fb", "a%252Fb"),
        ("..a", "..a"),
    ],
)
def test_a_name_is_one_path(name: str, path: str) -> None:
    assert path_of(name) == path


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/../b", "a//b", "/a", "a/", "a\nb", "a\x7fb", "a\x85b"])
def test_a_name_that_calls_another_path_is_refused(name: str) -> None:
    with pytest.raises(InvalidNameError, match=r"^modelName: must hold no "):
        path_of(name)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"a":1}', "[" * 100_000, '"\\ud800"'])
def test_an_annotation_of_others_is_nothing(text: str) -> None:
    found = model()
    found["metadata"]["annotations"] = {LOADED: text}
    assert read_names(found) == {}


def test_the_newest_names_are_remembered() -> None:
    text = encode_names({f"n{number}": "d" for number in range(10)})
    found = model()
    found["metadata"]["annotations"] = {LOADED: text}
    assert list(read_names(found)) == [f"n{number}" for number in range(2, 10)]
    assert encode_names({}) is None


def test_a_type_is_read_without_regard_to_case() -> None:
    assert is_lora(model(modelType="LoRA"))
    assert not is_lora(model(modelType="adapter"))
    assert not is_lora(model(modelType=None))
    assert lora_of(model(source=None)).uri == ""


def test_the_oldest_model_owns_an_adapter() -> None:
    models = [model("c"), model("b"), model("a")]
    for one, moment in zip(models, ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), strict=True):
        one["metadata"]["creationTimestamp"] = moment
    assert owner_of(models[0], models)["metadata"]["name"] == "a"
    models[2]["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"
    assert owner_of(models[0], models)["metadata"]["name"] == "b"
    assert owner_of(models[0], [model("x", modelType="base")]) is models[0]
