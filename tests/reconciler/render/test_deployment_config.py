"""The variable in which older tools say sizes of components."""

import copy
import json
from typing import Any

from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.rendering import VERSION, children, component, env_of, graph, main_of, stored, vllm

NAME = "DYN_DEPLOYMENT_CONFIG"
SAID = {"Frontend": {"port": 1}, "w": {"ServiceArgs": {"workers": 2}}}
TEXT = json.dumps(SAID)


def _graph(*components: dict[str, Any]) -> dict[str, Any]:
    return graph(*components, env=[{"name": NAME, "value": TEXT}])


def _told(obj: dict[str, Any], name: str) -> Any:
    return json.loads(env_of(main_of(children(obj)[f"Deployment {name}"]))[NAME])


def test_a_frontends_port_is_told_to_the_frontend_alone() -> None:
    """Also where the graph says the variable once for all."""
    obj = _graph(component("fe", "frontend"), vllm("w"))
    assert _told(obj, "g-fe")["Frontend"] == {"port": 8000}
    assert _told(obj, "g-w") == SAID


def test_the_order_of_components_changes_no_pod() -> None:
    there, back = _graph(component("fe", "frontend"), vllm("w")), _graph(vllm("w"), component("fe", "frontend"))
    assert children(there)["Deployment g-w"] == children(back)["Deployment g-w"]


def test_the_graph_stays_as_it_was() -> None:
    obj = stored(_graph(component("fe", "frontend"), vllm("w")))
    before = copy.deepcopy(obj)
    render(obj, Settings(operator_version=VERSION))
    assert obj == before
