"""The compilation cache: where it is mounted, what is told of it, and that no pod restarts for a conversion."""

from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.reconciler.render.children import worker_hash
from dynamo_webhooks.reconciler.render.graph import read_graph
from tests.reconciler.rendering import alpha, children, component, graph, main_of, pod_of, rendered, vllm

Fields = dict[str, Any]
_ROOT = "VLLM_CACHE_ROOT"
_USUAL = "/root/.cache/vllm"


def _flagged(framework: str) -> Fields:
    """A v1alpha1 graph whose cache is flagged and has no path."""
    mounts = [{"name": "cache", "useAsCompilationCache": True}, {"name": "other", "mountPoint": "/o"}]
    main = {"image": "i", "command": ["python3", "-m", f"dynamo.{framework}"]}
    return alpha("w", "worker", volumeMounts=mounts, extraPodSpec={"mainContainer": main})


def test_a_flagged_mount_without_a_path_goes_where_vllm_keeps_its_cache() -> None:
    """Admission lets such a graph in, for vLLM has a usual place."""
    made = children(_flagged("vllm"))["Deployment g-w"]
    mounts = {one["name"]: one["mountPath"] for one in main_of(made)["volumeMounts"]}
    assert mounts == {"other": "/o", "cache": _USUAL, "shared-memory": mounts["shared-memory"]}
    assert {"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}} in pod_of(made)["volumes"]


def test_an_engine_without_a_usual_place_is_asked_for_one() -> None:
    problems = [str(problem) for problem in rendered(_flagged("sglang")).problems]
    assert problems == ["spec.components[0].compilationCache.mountPath: must say where the cache is mounted; only vLLM has a usual place"]


def test_a_mount_without_a_path_that_is_no_cache_is_a_problem() -> None:
    obj = graph(vllm("w", main={"volumeMounts": [{"name": "x", "mountPath": ""}]}, compilationCache={"pvcName": "cache"}))
    assert [problem.path[-1] for problem in rendered(obj).problems] == ["mountPath"]


def test_the_cache_is_told_once_and_last() -> None:
    """Twice the same name can't be applied; the last one is what a process sees."""
    main = {"env": [{"name": _ROOT, "value": "/mine"}, {"name": "Z", "value": "1"}]}
    env = main_of(children(graph(vllm("w", main=main, compilationCache={"pvcName": "cache"})))["Deployment g-w"])["env"]
    assert [one for one in env if one["name"] == _ROOT] == [env[-1]] == [{"name": _ROOT, "value": _USUAL}]


@pytest.mark.parametrize(("cache", "path"), [({"pvcName": "cache"}, _USUAL), ({"pvcName": "cache", "mountPath": "/c"}, "/c")])
def test_a_checkpoint_is_taken_of_a_worker_with_its_cache(cache: Fields, path: str) -> None:
    asked = {"checkpoint": {"identity": {"model": "m", "backendFramework": "vllm"}}}
    made = {one["kind"]: one for one in rendered(graph(vllm("w", compilationCache=cache, experimental=asked))).children}
    container = made["DynamoCheckpoint"]["spec"]["job"]["podTemplateSpec"]["spec"]["containers"][0]
    assert {"name": "cache", "mountPath": path} in container["volumeMounts"]
    assert container["env"][-1] == {"name": _ROOT, "value": path}


FLAT = [{"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}, {"name": "d", "mountPoint": "/d"}]
MOUNTS = [{"name": "c", "mountPath": "/c"}, {"name": "d", "mountPath": "/d"}]


def _alpha() -> dict[str, Any]:
    return alpha("w", "worker", volumeMounts=FLAT, extraPodSpec={"mainContainer": {"image": "i"}})


def _beta(*mounts: dict[str, str]) -> dict[str, Any]:
    main = {"image": "i", "volumeMounts": [*mounts]}
    return graph(component("w", "worker", main, compilationCache={"pvcName": "c", "mountPath": "/c"}))


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
