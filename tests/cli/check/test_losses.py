"""The last stage of `check`: the way to the kind's other version and back, also of objects that are too long for it."""

from typing import Any
from unittest.mock import Mock

import pytest

from dynamo_webhooks.admission import losses as module
from dynamo_webhooks.admission.losses import Loss, find_losses
from dynamo_webhooks.api.kinds import ALPHA
from dynamo_webhooks.cli.validation.levels import FAULT, WARNING
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.conversion.bounds import TOO_LONG
from dynamo_webhooks.conversion.engine import Conversion, convert
from dynamo_webhooks.conversion.kind import Kind
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.remainder import annotation_keys
from dynamo_webhooks.policies.checks import LONG_REMAINDER
from tests.cli.conftest import Command, Files
from tests.cli.samples import GOOD, MAIN, graph, manifest
from tests.conversion.test_bounds import noise

GRAPH = "DynamoGraphDeployment"
KEY = annotation_keys(KINDS[GRAPH])[0]
BOTH = manifest(GRAPH, "v1alpha1", "{pvcs: [{name: claim}], services: {w: {componentType: worker, dynamoNamespace: old}}}")
BOTH = BOTH.replace("namespace: llm", "annotations: {mine: x}")


def _losses(obj: dict[str, Any], **words: Any) -> list[Loss]:
    return list(find_losses(obj, GRAPH, ALPHA, **words))


def _told(losses: list[Loss]) -> list[tuple[str, str, tuple[str | int, ...]]]:
    return [(loss.rule.name, loss.level.value, loss.path) for loss in losses]


@pytest.mark.parametrize("text", [GOOD, BOTH, GOOD.replace("metadata:\n  name: good\n  namespace: llm\n", "")])
def test_what_comes_home_is_no_finding(text: str) -> None:
    assert _losses(load_documents(text)[0].data) == []


def test_a_remainder_that_was_damaged_by_hand_is_a_warning_at_its_annotation(command: Command, files: Files) -> None:
    files(a=GOOD.replace("  namespace: llm\n", f"  namespace: llm\n  annotations:\n    {KEY}: '{{broken'\n"))
    (finding,) = command("check", "a.yaml", "-o", "json").json["findings"]
    assert (finding["rule"], finding["level"], finding["stage"], finding["line"]) == ("damaged-remainder", "warning", "conversion", 7)
    assert finding["path"] == f"metadata.annotations[{KEY}]"
    assert "broken" not in finding["message"]


def _otherwise(change: Any) -> Any:
    """A conversion that is ours on the way there, and on the way back what `change` makes of it."""

    def conversion(kind: Kind, obj: dict[str, Any], desired: str, *, whole: bool = False) -> Conversion:
        return change(convert(kind, obj, desired)) if desired == ALPHA else convert(kind, obj, desired)

    return conversion


def _lost(done: Conversion) -> Conversion:
    done.object["spec"]["services"]["w"]["componentType"] = "frontend"
    return done


def _not_back(_: Conversion) -> Conversion:
    raise ConversionError(("spec", "components"), "must be otherwise")


def _raised(_: Conversion) -> Conversion:
    raise KeyError("secret")


@pytest.mark.parametrize(("change", "path"), [(_lost, ("spec", "services", "w", "componentType")), (_not_back, ()), (_raised, ())])
def test_what_does_not_come_home_is_a_fault_of_ours(change: Any, path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Or of whoever wrote a remainder by hand, where the object carries one."""
    monkeypatch.setattr(module, "convert", _otherwise(change))
    monkeypatch.setattr(module, "_is_proven", lambda *_: False)
    obj = load_documents(BOTH)[0].data
    (loss,) = losses = _losses(obj)
    assert _told(losses) == [("conversion-loss", FAULT, path)]
    assert "secret" not in loss.text
    obj["metadata"]["annotations"][KEY] = '{"version":1,"spec":{}}'
    assert _told(_losses(obj)) == [("conversion-loss", FAULT if change is _raised else WARNING, path)]
    assert _losses(obj, admitted=False) == []


def test_a_conversion_that_raises_is_a_fault_without_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "convert", Mock(side_effect=KeyError("secret")))
    (loss,) = _losses(load_documents(GOOD)[0].data)
    message = "the conversion to v1beta1 raised KeyError; this is an internal error"
    assert (loss.rule.name, loss.level, loss.path, loss.text) == ("conversion-loss", FAULT, (), message)


def test_the_proof_holds_only_where_nothing_is_kept() -> None:
    kind, obj = KINDS[GRAPH], load_documents(BOTH)[0].data
    there = convert(kind, obj, "v1beta1").object
    assert module._is_proven(kind, obj, there)
    assert not module._is_proven(kind, {"metadata": {"annotations": {KEY: "{}"}}}, there)
    assert not module._is_proven(kind, obj, {"metadata": {"annotations": {KEY: '{"kept":[]}'}}})
    assert not module._is_proven(KINDS["DynamoGraphDeploymentRequest"], obj, there)


def long_beta(size: int) -> str:
    """A graph of v1beta1 with a long text of which v1alpha1 has no field."""
    return graph(f"name: w, type: worker, {MAIN}".replace("{spec:", f"{{metadata: {{finalizers: [{noise(size)}]}}, spec:"))


@pytest.fixture
def long(files: Files) -> str:
    """A graph whose longest text stands in line 10."""
    lines = GOOD.splitlines()
    files(a="\n".join([*lines, f"      annotations: {{note: {noise(300_000)}}}", ""]))
    return str(len(lines) + 1)


def test_what_the_api_server_would_refuse_is_an_error(command: Command, files: Files) -> None:
    files(a=long_beta(100_000))
    assert command("check", "a.yaml", "-o", "json", "--ignore", "field-without-effect").json["findings"] == []
    files(a=long_beta(300_000))
    ran = command("check", "a.yaml", "-o", "json", "--select", LONG_REMAINDER.name)
    (finding,) = ran.json["findings"]
    assert (finding["path"], finding["level"], ran.code) == ("spec.components[0].podTemplate.metadata.finalizers[0]", "error", 1)
    assert finding["message"] == "must be smaller: in v1alpha1 it needs 297 of 256 KiB of annotations"
    assert f"{finding['message']} [{LONG_REMAINDER.name}]" in command("check", "a.yaml", "--answer").out


def test_what_is_stored_is_a_warning_beside_its_old_file(command: Command, files: Files, long: str) -> None:
    files(b=(files() / "a.yaml").read_text().replace("replicas: 2", "replicas: 3"))
    ran = command("check", "b.yaml", "--line", "1.2", "--old", "a.yaml", "-o", "json", "--select", LONG_REMAINDER.name)
    (finding,) = ran.json["findings"]
    assert (str(finding["line"]), finding["level"], ran.code) == (long, "warning", 0)
    assert finding["message"] == "must be smaller: 297 of 256 KiB of annotations in v1beta1; read-only there"


def test_convert_loses_nothing_of_it_and_says_that_it_is_refused(command: Command, files: Files, long: str) -> None:
    assert long
    there = command("convert", "--to", "v1beta1", "a.yaml")
    assert there.code == 1
    assert "check refuses the converted object: metadata.annotations: Too long" in there.err
    assert TOO_LONG not in there.err + there.out
    files(b=there.out)
    assert noise(300_000) in command("convert", "--to", "v1alpha1", "b.yaml").out
