"""Worked examples (tests/reconciler/render/cases): each file holds a graph, and the children that the Go operator makes of it.

The account that it makes for planners is left out where a graph has none (docs/decisions.md).
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.reconciler.comparison import differences, tidy
from tests.reconciler.rendering import rendered

FOLDER = Path(__file__).with_name("examples")
RIGHTS = ("ServiceAccount", "Role", "RoleBinding")  # written down once, in the first example
# what an example doesn't write down, because it is that of another one under other names
LEFT_OUT = {
    "disaggregated": {f"{kind} disagg-frontend" for kind in ("DynamoComponentDeployment", "Deployment", "Service")},
    "two-nodes-grove": {"ConfigMap mn-wait-leader-script", "Secret mpi-run-ssh-secret"},
}
ABILITIES: dict[str, dict[str, Any]] = {"two-nodes": {"lws": True}, "two-nodes-grove": {"grove": True}}


def _example(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    graph, *children = yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text())
    return graph, children


@pytest.mark.parametrize("name", sorted({file.stem for file in FOLDER.glob("*.yaml")}))
def test_a_worked_example_renders_as_written(name: str) -> None:
    graph, want = _example(name)
    done = rendered(graph, **ABILITIES.get(name, {}))
    assert done.problems == []
    have = tidy(done.children)
    if not any(child["kind"] in RIGHTS for child in want):
        assert sum(1 for key in have if key.startswith(RIGHTS)) == (5 if name == "planner" else 3)
        have = {key: one for key, one in have.items() if not key.startswith(RIGHTS)}
    left_out = LEFT_OUT.get(name, set())
    assert left_out <= have.keys()
    assert list(differences({key: one for key, one in have.items() if key not in left_out}, tidy(want))) == []


def test_a_comparison_notices_what_matters() -> None:
    graph, want = _example("aggregated")
    have = tidy(rendered(graph).children)
    for path, value in (
        (("spec", "replicas"), 3),
        (("spec", "template", "spec", "terminationGracePeriodSeconds"), 61),
        (("spec", "template", "spec", "containers", 0, "env", 0, "value"), "8001"),
        (("metadata", "ownerReferences", 0, "name"), "other"),
    ):
        spoilt = tidy(want)
        place: Any = spoilt["Deployment agg-frontend"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        assert len(list(differences(have, spoilt))) == 1, path
