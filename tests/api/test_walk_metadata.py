"""Wrong JSON types in metadata, of an object and of one inside it: refused as a real API server refuses them, which was asked."""

from typing import Any, Final

import pytest

from dynamo_webhooks.api.walk.admit import admit
from dynamo_webhooks.api.walk.errors import Reason

REQUEST: Final = ("DynamoGraphDeploymentRequest", "v1beta1")
# Metadata, and the place in it that is wrong.
WRONG: Final[list[tuple[Any, str]]] = [
    ("x", ""),
    ([], ""),
    (5, ""),
    ({"labels": 5}, ".labels"),
    ({"labels": []}, ".labels"),
    ({"labels": {"a": 1}}, ".labels[a]"),
    ({"annotations": {"a": True}}, ".annotations[a]"),
    ({"name": 5}, ".name"),
    ({"uid": 5}, ".uid"),
    ({"generation": "x"}, ".generation"),
    ({"generation": 1.5}, ".generation"),
    ({"deletionGracePeriodSeconds": "x"}, ".deletionGracePeriodSeconds"),
    ({"creationTimestamp": 5}, ".creationTimestamp"),
    ({"creationTimestamp": "zz"}, ".creationTimestamp"),
    ({"finalizers": "a"}, ".finalizers"),
    ({"finalizers": [5]}, ".finalizers[0]"),
    ({"ownerReferences": {}}, ".ownerReferences"),
    ({"ownerReferences": [{"name": 5}]}, ".ownerReferences[0].name"),
    ({"ownerReferences": [{"controller": "x"}]}, ".ownerReferences[0].controller"),
    ({"managedFields": 5}, ".managedFields"),
    ({"managedFields": [{"time": 5}]}, ".managedFields[0].time"),
    ({"name": "a", "labels": "x", "annotations": {"k": "v"}}, ".labels"),
]
# Metadata that a server takes, and what it makes of it.
TAKEN: Final[list[tuple[Any, Any]]] = [
    (None, {}),
    ({}, {}),
    ({"name": ""}, {}),
    ({"labels": None}, {}),
    ({"labels": {}}, {}),
    ({"labels": {"a": None}}, {"labels": {"a": ""}}),
    ({"unknown": 5}, {}),
]


def request(metadata: Any) -> dict[str, Any]:
    inside = {"apiVersion": "v1", "kind": "K", "metadata": metadata}
    spec = {"model": "m", "overrides": {"dgd": inside}}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": REQUEST[0], "metadata": {"name": "t"}, "spec": spec}


@pytest.mark.parametrize(("metadata", "place"), WRONG, ids=str)
def test_wrong_types_are_refused_inside_an_object_and_at_its_root(metadata: Any, place: str) -> None:
    """Nothing else is said then, as a server that could not decode says nothing else."""
    for obj, where in ((request(metadata), "spec.overrides.dgd.metadata"), ({**request({}), "metadata": metadata}, "metadata")):
        answer = admit(obj, *REQUEST)
        assert [(error.field, error.reason) for error in answer.errors] == [(where + place, Reason.TYPE_INVALID)]
        assert answer.errors[0].message.startswith("must be ")


@pytest.mark.parametrize(("metadata", "left"), TAKEN, ids=str)
def test_what_stands_for_absent_is_taken(metadata: Any, left: Any) -> None:
    answer = admit(request(metadata), *REQUEST)
    assert answer.errors == ()
    assert answer.object["spec"]["overrides"]["dgd"]["metadata"] == left


def test_metadata_of_templates_is_the_schemas_business() -> None:
    """Pod templates are no embedded objects: their labels are checked by the schema, with its own causes."""
    spec = {"services": {"w": {"extraPodMetadata": {"labels": {"a": 1}}}}}
    obj = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "t"}, "spec": spec}
    errors = admit(obj, "DynamoGraphDeployment", "v1alpha1").errors
    assert errors[0].field == "spec.services.w.extraPodMetadata.labels.a"
