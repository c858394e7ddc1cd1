"""Rights of a graph with a long name: names stay whole, and labels are cut to what a label can hold."""

import re

from tests.reconciler.rendering import children, component, graph

LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LONG = "g" * 60
RIGHTS = {
    f"ServiceAccount {LONG}-k8s-service-discovery",
    f"Role {LONG}-k8s-service-discovery-role",
    f"RoleBinding {LONG}-k8s-service-discovery-binding",
}


def test_a_graph_of_sixty_characters_gets_its_rights() -> None:
    found = children(graph(component("f", "frontend"), name=LONG))
    assert found.keys() >= RIGHTS
    binding = found[f"RoleBinding {LONG}-k8s-service-discovery-binding"]
    assert [one["name"] for one in binding["subjects"]] == [f"{LONG}-k8s-service-discovery"]
    assert binding["roleRef"]["name"] == f"{LONG}-k8s-service-discovery-role"
    for name in RIGHTS:
        for value in found[name]["metadata"]["labels"].values():
            assert LABEL.fullmatch(value), value
