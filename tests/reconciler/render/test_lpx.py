"""Components of type lpx, which only the Go operator 1.6 runs, and pod templates of roles on older lines: said, never half made."""

from typing import Any

import pytest

from dynamo_webhooks.cli.commands.picture.parts import picture
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.reconciler.rendering import graph, stored, vllm

Fields = dict[str, Any]
TEMPLATE: Fields = {"spec": {"containers": [{"name": "main", "image": "i:1.6.0", "command": ["x"]}]}}
LPX: Fields = {"name": "x", "type": "lpx", "lpx": {"buildId": "b"}, "roles": [{"name": "agent", "podTemplate": TEMPLATE}]}
BOTH = [{"name": name, "podTemplate": TEMPLATE} for name in ("leader", "worker")]
TEMPLATED: Fields = {"name": "w", "type": "worker", "multinode": {"nodeCount": 2}, "roles": BOTH}


@pytest.mark.parametrize("grove", [False, True])
def test_a_component_of_type_lpx_is_not_run_and_the_status_says_so(*, grove: bool) -> None:
    settings = Settings(grove=grove, operator_version="1.6.0")
    with_it = render(stored(graph(LPX, vllm()), "1.6.0", grove=grove), settings)
    without = render(stored(graph(vllm()), "1.6.0", grove=grove), settings)
    assert with_it.problems == without.problems == []
    assert with_it.children == without.children
    said = "spec.components[0]: is not run: only the Go operator 1.6 runs components of type lpx"
    assert [str(note) for note in with_it.notes if note not in without.notes and "components[0]" in str(note)] == [said]


def test_a_component_of_type_lpx_is_drawn() -> None:
    assert [part.name for part in picture(graph(LPX, vllm()), []).parts] == ["worker", "x"]


@pytest.mark.parametrize("grove", [False, True])
def test_pod_templates_of_roles_are_a_problem_before_line_1_6(*, grove: bool) -> None:
    done = render(graph(TEMPLATED), Settings(grove=grove, lws=True, operator_version="1.5.0"))
    said = "spec.components[0].roles: must have no pod templates before line 1.6; use podTemplate"
    assert said in map(str, done.problems)
    assert not {one["kind"] for one in done.children} & {"PodCliqueSet", "LeaderWorkerSet", "Deployment"}
