"""The compilation cache: where it is mounted, what is told of it, and that no pod restarts for a conversion."""

from typing import Any

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.reconciler.render.children import compute_worker_hash
from dynamo_webhooks.reconciler.render.graph import read_graph
from tests.reconciler.rendering import alpha, children, component, graph, main_of, rendered, vllm

_ROOT = "VLLM_CACHE_ROOT"
_USUAL = "/root/.cache/vllm"


def test_a_mount_without_a_path_that_is_no_cache_is_a_problem() -> None:
    obj = graph(vllm("w", main={"volumeMounts": [{"name": "x", "mountPath": ""}]}, compilationCache={"pvcName": "cache"}))
    assert [problem.path[-1] for problem in rendered(obj).problems] == ["mountPath"]


def test_the_cache_is_told_once_and_last() -> None:
    """Twice the same name can't be applied; the last one is what a process sees."""
    main = {"env": [{"name": _ROOT, "value": "/mine"}, {"name": "Z", "value": "1"}]}
    env = main_of(children(graph(vllm("w", main=main, compilationCache={"pvcName": "cache"})))["Deployment g-w"])["env"]
    assert [entry for entry in env if entry["name"] == _ROOT] == [env[-1]] == [{"name": _ROOT, "value": _USUAL}]


FLAT = [{"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}, {"name": "d", "mountPoint": "/d"}]
MOUNTS = [{"name": "c", "mountPath": "/c"}, {"name": "d", "mountPath": "/d"}]


def _alpha() -> dict[str, Any]:
    return alpha("w", "worker", volumeMounts=FLAT, extraPodSpec={"mainContainer": {"image": "i"}})


def _beta(*mounts: dict[str, str]) -> dict[str, Any]:
    main = {"image": "i", "volumeMounts": [*mounts]}
    return graph(component("w", "worker", main, compilationCache={"pvcName": "c", "mountPath": "/c"}))


def _mounts(obj: dict[str, Any]) -> Any:
    return read_graph(obj, line=Line.V1_2).members[0].fields["podTemplate"]["spec"]["containers"][0]["volumeMounts"]


def test_the_cache_of_v1alpha1_stands_where_its_author_had_it() -> None:
    assert _mounts(_alpha()) == MOUNTS
    assert _mounts(convert_object(_alpha(), target("nvidia.com/v1beta1", line=Line.V1_2)).object) == MOUNTS


def test_the_hash_is_that_of_the_mounts_which_older_operators_stored() -> None:
    assert compute_worker_hash(read_graph(_alpha(), line=Line.V1_2), Line.V1_2) == compute_worker_hash(
        read_graph(_beta(*MOUNTS), line=Line.V1_2), Line.V1_2
    )


def test_the_mounts_of_v1beta1_stay_as_they_are() -> None:
    assert _mounts(_beta(MOUNTS[1])) == [MOUNTS[1]]
    assert compute_worker_hash(read_graph(_beta(MOUNTS[1]), line=Line.V1_2), Line.V1_2) != compute_worker_hash(
        read_graph(_beta(*MOUNTS), line=Line.V1_2), Line.V1_2
    )
