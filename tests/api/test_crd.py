"""The CustomResourceDefinitions are complete, self-contained and small enough to be applied by any client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson
import pytest

from api.crd import build
from api.kinds import KINDS
from tests.api.nodes import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

Node: TypeAlias = dict[str, Any]
LAST_APPLIED_LIMIT: Final = 262_144  # bytes of an annotation, which `kubectl apply` fills with the whole object


def crd_nodes(crd: Node) -> Iterator[Node]:
    for version in crd["spec"]["versions"]:
        yield from nodes(version["schema"]["openAPIV3Schema"])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.alias)
def test_definitions_are_complete(kind: Any) -> None:
    """Names, versions, subresources and columns are there; no reference is left, and every node has a type the API server takes."""
    crd = build(kind.name)
    spec = crd["spec"]
    assert crd["metadata"]["name"] == f"{kind.plural}.nvidia.com"
    assert spec["scope"] == "Namespaced"
    assert spec["names"]["shortNames"] == [kind.short]
    assert "conversion" not in spec
    assert [version["name"] for version in spec["versions"] if version["storage"]] == [kind.storage_version]
    for version in spec["versions"]:
        assert set(version.get("subresources", {})) == set(kind.subresources)
        assert version["additionalPrinterColumns"][-1]["jsonPath"] == ".metadata.creationTimestamp"
        assert version.get("deprecated", False) == ("deprecationWarning" in version)
    for node in crd_nodes(crd):
        assert "$ref" not in node
        assert "type" in node or node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")


def test_only_own_fields_are_described() -> None:
    """Kubernetes' types carry no descriptions: they would make the definitions several times as large."""
    component = build("DynamoComponentDeployment")["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    template = component["properties"]["podTemplate"]
    assert component["properties"]["replicas"]["description"] == "How many replicas run."
    assert template["description"].startswith("Template of the pods")
    assert [node for node in nodes(template) if "description" in node] == [template]


def test_deprecation_names_the_successor() -> None:
    """kubectl shows what to write in place of the old version."""
    old, new = build("DynamoGraphDeployment")["spec"]["versions"]
    assert (
        old["deprecationWarning"] == "nvidia.com/v1alpha1 DynamoGraphDeployment is deprecated; use nvidia.com/v1beta1 DynamoGraphDeployment"
    )
    assert "deprecated" not in new


def test_versions_can_be_left_out() -> None:
    """Tests register one version; it is stored then, whichever it is."""
    crd = build("DynamoGraphDeployment", versions={"v1beta1"}, conversion={"strategy": "None"})
    assert [(version["name"], version["storage"]) for version in crd["spec"]["versions"]] == [("v1beta1", True)]
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    with pytest.raises(ValueError, match="must name a version of DynamoModel"):
        build("DynamoModel", versions={"v1beta1"})


def test_built_definitions_are_nobody_elses() -> None:
    """Changing a definition does not change the next one."""
    crd = build("DynamoModel")
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"].clear()
    assert build("DynamoModel") != crd


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.alias)
def test_definitions_fit_the_annotation_of_kubectl_apply(kind: Any) -> None:
    """Client-side `kubectl apply` keeps the object in an annotation, whose limit each definition stays below."""
    size = len(orjson.dumps(build(kind.name)))
    assert size < LAST_APPLIED_LIMIT, f"{size - LAST_APPLIED_LIMIT} bytes too many"
