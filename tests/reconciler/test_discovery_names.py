"""Rights of a graph with a long name: names stay whole, labels are cut to what a label can hold, and two long names don't meet."""

from __future__ import annotations

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


def test_labels_of_two_long_names_differ() -> None:
    labels = [
        children(graph(component("f", "frontend"), name=LONG + end))[f"ServiceAccount {LONG}{end}-k8s-service-discovery"]["metadata"][
            "labels"
        ]
        for end in ("a", "b")
    ]
    assert labels[0]["app.kubernetes.io/name"] != labels[1]["app.kubernetes.io/name"]
