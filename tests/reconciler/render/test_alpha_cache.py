"""A graph that was written in v1alpha1 keeps the place of its compilation cache among the mounts: no pod restarts for a conversion."""

from typing import Any

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.reconciler.render.children import worker_hash
from dynamo_webhooks.reconciler.render.graph import read_graph

FLAT = [{"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}, {"name": "d", "mountPoint": "/d"}]
MOUNTS = [{"name": "c", "mountPath": "/c"}, {"name": "d", "mountPath": "/d"}]
METADATA = {"name": "g", "namespace": "demo"}


def _alpha() -> dict[str, Any]:
    service = {"componentType": "worker", "volumeMounts": FLAT, "extraPodSpec": {"mainContainer": {"image": "i"}}}
    spec = {"services": {"w": service}}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": METADATA, "spec": spec}


def _beta(*mounts: dict[str, str]) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "image": "i", "volumeMounts": list(mounts)}]}}
    component = {
        "name": "w",
        "type": "worker",
        "compilationCache": {"pvcName": "c", "mountPath": "/c"},
        "podTemplate": template,
    }
    spec = {"components": [component]}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": METADATA, "spec": spec}


def _mounts(obj: dict[str, Any]) -> Any:
    return read_graph(obj).members[0].fields["podTemplate"]["spec"]["containers"][0]["volumeMounts"]


def test_the_cache_of_v1alpha1_stands_where_its_author_had_it() -> None:
    assert _mounts(_alpha()) == MOUNTS
    assert _mounts(convert_object(_alpha(), target("nvidia.com/v1beta1")).object) == MOUNTS


def test_the_hash_is_that_of_the_mounts_which_older_operators_stored() -> None:
    assert worker_hash(read_graph(_alpha()), Line.V1_2) == worker_hash(read_graph(_beta(*MOUNTS)), Line.V1_2)


def test_the_mounts_of_v1beta1_stay_as_they_are() -> None:
    assert _mounts(_beta(MOUNTS[1])) == [MOUNTS[1]]
    assert worker_hash(read_graph(_beta(MOUNTS[1])), Line.V1_2) != worker_hash(read_graph(_beta(*MOUNTS)), Line.V1_2)
