"""What `render` hands to each kind: the other objects of the same file, and the operator's configuration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dynamo_webhooks.cli.render import kinds
from dynamo_webhooks.reconciler.render.children import Rendered
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.held import Held
from tests.cli.daemon import CONFIG

if TYPE_CHECKING:
    from dynamo_webhooks.cli.render.kinds import Operator
    from tests.cli.conftest import Command, Files

MODEL = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoModel",
    "metadata": {"name": "m", "namespace": "demo"},
    "spec": {"modelName": "m", "baseModelName": "b"},
}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}


def _probe(obj: dict[str, Any], held: Held, operator: Operator) -> Rendered:
    seen = {
        "nodes": [one["metadata"]["name"] for one in held.all("Node")],
        "claim": held.get("PersistentVolumeClaim", "demo", "c") is not None,
        "models": len(held.all("DynamoModel", "demo")),
        "version": operator.configuration().identity.version,
    }
    problem = RenderError(("spec", "modelName"), "must be another")
    return Rendered([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "demo", "name": "seen"}, "data": seen}], [problem])


def test_a_kind_is_given_what_the_file_holds_and_the_configuration(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "ROWS", {**kinds.ROWS, "DynamoModel": _probe})
    files(
        a=json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE, MODEL, CLAIM]}),
        config=CONFIG.replace("{namespace: dynamo-system}", "{namespace: dynamo-system, version: 1.2.7}"),
    )
    ran = command("render", "-q", "-o", "json", "-n", "demo", "--config", "config.yaml", "a.yaml")
    assert ran.code == 1
    assert "DynamoModel demo/m: spec.modelName: must be another" in ran.err
    assert [one["data"] for one in ran.json] == [{"nodes": ["n1"], "claim": True, "models": 1, "version": "1.2.7"}]


def test_objects_are_found_by_kind_namespace_and_name() -> None:
    held = Held([NODE, CLAIM, MODEL, {**MODEL, "metadata": {"name": "m", "namespace": "other"}}], "demo")
    assert [one["metadata"]["namespace"] for one in held.all("DynamoModel")] == ["demo", "other"]
    assert held.all("DynamoModel", "other") == [{**MODEL, "metadata": {"name": "m", "namespace": "other"}}]
    assert held.get("DynamoModel", "third", "m") is None
    assert held.get("PersistentVolumeClaim", "demo", "c") is CLAIM


@pytest.mark.parametrize("odd", [{}, {"kind": 1, "metadata": {"name": "x"}}, {"kind": "Node"}, {"kind": "Node", "metadata": {"name": []}}])
def test_what_has_no_name_is_not_held(odd: dict[str, Any]) -> None:
    held = Held([odd, NODE])
    assert held.all("Node") == [NODE]
