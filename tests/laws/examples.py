"""Counterexamples that the laws' generators found once: an object, and an edit of its conversion where that matters."""

import copy
from typing import Any, Final

from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from tests.laws.laws import away

Object = dict[str, Any]


def _object(kind: str, version: str, *, annotations: Any = None, **parts: Any) -> Object:
    metadata: Object = {"name": "x", "namespace": "default"}
    if annotations is not None:
        metadata["annotations"] = annotations
    return {"apiVersion": f"nvidia.com/{version}", "kind": f"Dynamo{kind}", "metadata": metadata, **parts}


def edited(obj: Object, parts: Object | None) -> Object | None:
    """The object's conversion, with spec or status replaced; its remainder stays. None without parts."""
    return None if parts is None else {**copy.deepcopy(away(obj)), **parts}


GRAPH, COMPONENT, REQUEST = "GraphDeployment", "ComponentDeployment", "GraphDeploymentRequest"
_EVIL: Final = '{"version":1,"spec":{},"kept":[[["spec"]],[[],3],[["metadata","name"],"evil"],[["kind"],"Evil"]]}'
_TWO_MAINS: Final = {"containers": [{"name": "main"}, {"name": "main", "image": "second"}]}
_PROFILER: Final = '{"overrides":{"profilingJob":{"backoffLimit":2,"template":{"spec":{"containers":[{"name":"profiler"}]}}}}}'
_STALENESS: Final = {"config": {"saturationDetector": {"metricsStalenessThreshold": "no duration"}}}
_NULL_LISTS: Final = {"containers": [{"name": "main", "env": [None, {"name": "A"}], "envFrom": [None], "volumeMounts": [None]}]}
_NULL_AND_MAIN: Final = {"containers": [{"name": "main", "volumeMounts": [None]}, {"name": "main"}]}
_TWO_CACHES: Final = [{"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}, {"useAsCompilationCache": True}]
_AT_B: Final = {"name": "c", "mountPoint": "/b", "useAsCompilationCache": True}
_PROBED: Final = {"livenessProbe": {"httpGet": {}}, "extraPodSpec": {"mainContainer": {"volumeMounts": [None]}}}
_BLOB: Final = {"sla": {"isl": 100.9, "osl": 3000000000, "extra": 9007199254740993}, "planner": {"z": [None, 1.0, True]}}

OBJECTS: Final[list[Object]] = [
    _object(COMPONENT, LEFT, annotations={}, spec={"annotations": {"a": "b"}}),
    _object(COMPONENT, LEFT, annotations=None, spec={"annotations": {}, "checkpoint": {"enabled": False}, "eppConfig": _STALENESS}),
    _object(COMPONENT, RIGHT, spec={"podTemplate": {"metadata": {}, "spec": _TWO_MAINS}, "eppConfig": {}}),
    _object(GRAPH, RIGHT, spec={"components": [{"name": "a", "podTemplate": {"spec": _TWO_MAINS}, "compilationCache": {"pvcName": "c"}}]}),
    _object(GRAPH, RIGHT, spec={"components": [{"name": "a", "podTemplate": {"spec": _NULL_LISTS}}]}),
    _object(
        GRAPH,
        RIGHT,
        spec={
            "components": [{"name": "a", "podTemplate": {"spec": _NULL_AND_MAIN}, "compilationCache": {"pvcName": "c", "mountPath": "/a"}}]
        },
    ),
    _object(GRAPH, LEFT, spec={"services": {"a": {"envs": [None], "extraPodSpec": {"mainContainer": {"envFrom": [None]}}}}}),
    _object(COMPONENT, LEFT, spec=_PROBED),
    _object(GRAPH, LEFT, annotations={"nvidia.com/dgd-spec": _EVIL}, spec={"services": {"a": {"replicas": 1}}}),
    _object(GRAPH, LEFT, spec={"services": {"a": None, "b": {"componentType": "prefill", "subComponentType": "custom"}, "c": {}}}),
    _object(GRAPH, RIGHT, spec={"components": [{"name": "z", "type": "decode"}, {"name": "B"}, {"name": "a", "experimental": {}}]}),
    # what the Go operator wrote, its empty parts trimmed away: all that they said is in the remainder
    _object(GRAPH, RIGHT, annotations={"nvidia.com/dgd-spec": '{"version":1,"spec":{"pvcs":[{"create":true,"name":"a","size":"0"}]}}'}),
    _object(COMPONENT, RIGHT, annotations={"nvidia.com/dcd-status": '{"conditions":null,"podSelector":{"a":"b"}}'}, spec={}, status=None),
    _object(COMPONENT, LEFT, annotations={"nvidia.com/dcd-spec": '{"name":"s","experimental":{}}'}),
    _object(REQUEST, LEFT, annotations={"nvidia.com/dgdr-spec": '{"model":"","features":{"mocker":{}}}'}, status={}),
    _object(REQUEST, LEFT, annotations={"nvidia.com/dgdr-spec": _PROFILER}, spec={"model": "m", "profilingConfig": {"resources": {}}}),
    _object(REQUEST, LEFT, spec={"model": "m", "profilingConfig": {}}, status={"deployment": {"name": "main"}, "profilingResults": ""}),
    _object(REQUEST, LEFT, spec={"profilingConfig": {"profilerImage": "i", "resources": {}, "config": {"sla": {"ttft": 5}}}}),
    _object(REQUEST, LEFT, spec={"model": "m", "profilingConfig": {"profilerImage": "i", "config": _BLOB}}),
    _object(REQUEST, LEFT, status={"state": "Ready", "deployment": {"state": "successful", "name": "c", "created": True}}),
    _object(REQUEST, RIGHT, status={"dgdName": "e"}),
    _object(REQUEST, RIGHT, annotations={"nvidia.com/dgdr-spec": "{oops", "nvidia.com/dgdr-deployment-overrides": "{}"}, status={}),
    _object(REQUEST, RIGHT, spec={"model": "m", "sla": {"optimizationType": "cost", "itl": -1.5}, "image": "j"}, status={}),
]
_NAMED: Final = _object(REQUEST, RIGHT, status={"dgdName": "e"})
_TWICE: Final = _object(GRAPH, LEFT, spec={"services": {"a": {"sharedMemory": {"disabled": True, "size": "1Gi"}}}})
_JOB: Final = {"template": {"spec": {"containers": [{"name": "profiler", "resources": {"limits": {"cpu": "1"}}}]}}}
_PROFILED: Final = _object(REQUEST, RIGHT, spec={"model": "m", "overrides": {"profilingJob": _JOB}})
_CACHED: Final = _object(GRAPH, LEFT, spec={"services": {"a": {"volumeMounts": _TWO_CACHES}}})
_CACHE: Final = {"pvcName": "c", "mountPath": "/c"}
_NULL_ENV: Final = _object(COMPONENT, LEFT, spec={"envs": [None], "extraPodSpec": {"mainContainer": {}}})
_SIDECARS: Final = {"containers": [{"name": "sidecar-frontend"}, {"name": "sidecar-frontend", "restartPolicy": "Always"}]}
_TWO_SIDECARS: Final = _object(COMPONENT, RIGHT, spec={"podTemplate": {"spec": _SIDECARS}})
_SOURCES: Final = {"containers": [{"name": "s", "env": []}, {"name": "main", "envFrom": [{}, None]}]}
_SPLIT_ENV: Final = _object(GRAPH, LEFT, spec={"services": {"a": {"envs": [{"name": "main"}, {"name": None}]}}})
_NULLS: Final = _object(GRAPH, LEFT, spec={"services": {"a": {"replicas": None, "labels": {}, "envs": []}}})
_NULL_NAME: Final = _object(COMPONENT, RIGHT, spec={"name": "s", "frontendSidecar": None, "podTemplate": {"spec": {"containers": None}}})
_FLAGS: Final = [{"name": "c", "useAsCompilationCache": True}, {"name": "d", "useAsCompilationCache": True}]
_LABELLED: Final = _object(COMPONENT, LEFT, spec={"extraPodMetadata": {"annotations": {}}, "volumeMounts": _FLAGS})
_POD: Final = {"hostUsers": True}
_CACHES: Final = _object(GRAPH, LEFT, spec={"services": {"a": {"volumeMounts": _FLAGS, "extraPodSpec": _POD}}})
_NO_MAIN: Final = {"name": "a", "compilationCache": {"pvcName": "c"}, "podTemplate": {"spec": {**_POD, "containers": []}}}
_EMPTY_POD: Final = _object(COMPONENT, RIGHT, spec={"name": "x", "podTemplate": {"spec": {**_POD, "containers": []}}})
_BARE: Final = _object(COMPONENT, LEFT, spec={"annotations": {"a": "b"}})
_MAINS: Final = {"containers": [{"image": "j"}, {"name": "main"}, {"name": "main", "volumeMounts": [{"name": "c"}]}, {"name": "main"}]}
_SIDE: Final = {"name": "sidecar-frontend", "resources": {"limits": {}}, "command": []}
_FLAT_SIDE: Final = _object(COMPONENT, LEFT, spec={"frontendSidecar": {"image": "i"}})
_SIDE_FIRST: Final = {"spec": {"containers": [_SIDE, {"name": "main"}, {"name": "main"}]}}
_CREATED: Final = _object(REQUEST, LEFT, status={"state": "", "deployment": {"state": "pending", "created": True}})
_UNNAMED: Final = _object(COMPONENT, RIGHT, spec={"name": "x", "podTemplate": {"spec": {"containers": [{}]}}})
_MOUNTED: Final = {"serviceName": "x", "extraPodMetadata": {}, "volumeMounts": [{"useAsCompilationCache": True}]}
_MAIN_MOUNTS: Final = [{"mountPath": "/c", "name": "c"}, {"mountPath": "/c/", "name": "a"}, {"name": "main"}]
_MOUNTS_OF_MAIN: Final = {"spec": {"containers": [{"name": "main", "volumeMounts": _MAIN_MOUNTS}]}}
_SPLIT_MOUNTS: Final = _object(
    COMPONENT, LEFT, spec={"volumeMounts": [{"name": "a"}], "extraPodSpec": {"mainContainer": {"volumeMounts": _MAIN_MOUNTS}}}
)
_EMPTY_SECRET: Final = _object(COMPONENT, LEFT, spec={"serviceName": "x", "frontendSidecar": {"envFromSecret": ""}})
_NULL_SOURCES: Final = {"spec": {"containers": [{"name": "sidecar-frontend", "envFrom": None}]}}
_OFF: Final = _object(COMPONENT, RIGHT, spec={"name": "x", "experimental": {"checkpoint": {"enabled": False, "mode": "Manual"}}})
_AT_EMPTY: Final = _object(
    COMPONENT,
    LEFT,
    spec={
        "volumeMounts": [{"name": "b"}, {"name": "c", "mountPoint": ""}],
        "extraPodSpec": {"mainContainer": {"volumeMounts": [{"mountPath": "/a", "name": "a"}]}},
    },
)
_TWO_AT_EMPTY: Final = {"spec": {"containers": [{"name": "main", "volumeMounts": [{"mountPath": "", "name": name} for name in "ac"]}]}}
_SWITCHED: Final = _object(COMPONENT, LEFT, spec={"checkpoint": {"mode": "Auto"}})
_LONE_SIDECAR: Final = {"spec": {"containers": [{"name": "sidecar-frontend"}]}}
_OF_SECRET: Final = {"spec": {"containers": [{"name": "main", "envFrom": [{"secretRef": {"name": "s"}}]}]}}
_HALF_EMPTY: Final = {"hostAliases": [], "mainContainer": {"name": "x-1", "livenessProbe": {}}}
_NO_PATH: Final = [{"name": "b", "mountPoint": "/b"}, {"name": "c", "mountPoint": "", "useAsCompilationCache": True}]
_PATHLESS: Final = _object(
    COMPONENT, LEFT, spec={"volumeMounts": _NO_PATH, "extraPodSpec": {"mainContainer": {"volumeMounts": [{"name": "a"}]}}}
)
_BOTH_MOUNTS: Final = {"spec": {"containers": [{"name": "main", "volumeMounts": [{"name": "a"}, {"name": "b", "mountPath": "/b"}]}]}}
_EMPTY_COMMAND: Final = {"spec": {"containers": [{"name": "main", "command": []}]}}
_CACHE_AND_CACHE: Final = [_FLAGS[0], {**_FLAGS[1], "mountPoint": "/d"}]

# With what `edited` replaces in the conversion.
COUNTEREXAMPLES: Final[list[tuple[Object, Object | None]]] = [
    *((obj, None) for obj in OBJECTS),
    (_NAMED, {"status": {"deployment": {"name": "e"}}, "spec": {"backend": "auto"}}),
    (_TWICE, {"spec": {"components": [{"name": "a"}]}}),
    (_PROFILED, {"spec": {"model": "m", "profilingConfig": {"resources": {}, "profilerImage": "j"}}}),
    (_CACHED, {"spec": {"components": [{"name": "a", "compilationCache": _CACHE, "podTemplate": {"spec": {}}}]}}),
    (_NULL_ENV, {"spec": {"podTemplate": {}}}),
    (_TWO_SIDECARS, {"spec": {"extraPodSpec": {"containers": [{"name": "sidecar-frontend"}]}, "frontendSidecar": {}}}),
    (_SPLIT_ENV, {"spec": {"components": [{"name": "a", "podTemplate": {"spec": _SOURCES}}]}}),
    (_NULLS, {"spec": {"components": [{"name": "a", "replicas": 3}]}}),
    (_LABELLED, {"spec": {"name": "x", "compilationCache": {"pvcName": "c"}, "podTemplate": {"spec": {}}}}),
    (_CACHES, {"spec": {"components": [_NO_MAIN]}}),
    (_EMPTY_POD, {"spec": {"serviceName": "x", "extraPodSpec": _POD, "volumeMounts": _FLAGS}}),
    (_BARE, {"spec": {"name": "x", "compilationCache": {"pvcName": "c"}, "podTemplate": {"spec": _MAINS}}}),
    (_FLAT_SIDE, {"spec": {"name": "x", "frontendSidecar": "sidecar-frontend", "podTemplate": _SIDE_FIRST}}),
    (_CREATED, {"status": {"phase": "Ready"}}),
    (_UNNAMED, {"spec": _MOUNTED}),
    (_EMPTY_SECRET, {"spec": {"name": "x", "frontendSidecar": "sidecar-frontend", "podTemplate": _NULL_SOURCES}}),
    (_SPLIT_MOUNTS, {"spec": {"compilationCache": {"pvcName": "a", "mountPath": ""}, "podTemplate": _MOUNTS_OF_MAIN}}),
    (_OFF, {"spec": {"serviceName": "x", "checkpoint": {"enabled": None, "mode": "Auto"}}}),
    (_SWITCHED, {"spec": {"name": "x"}}),
    (_AT_EMPTY, {"spec": {"name": "x", "podTemplate": _TWO_AT_EMPTY}}),
    (_object(COMPONENT, RIGHT, spec={"name": "x", "frontendSidecar": "sidecar-frontend", "podTemplate": _LONE_SIDECAR}), None),
    (_object(COMPONENT, RIGHT, spec={"name": "x", "podTemplate": _OF_SECRET}), None),
    (_NULL_NAME, {"spec": {"serviceName": "s", "frontendSidecar": {}}}),
    (_object(GRAPH, LEFT, spec={"services": {"a": {"extraPodSpec": {"containers": [None]}}}}), None),
    (
        _object(GRAPH, LEFT, spec={"services": {"a": {"extraPodSpec": _HALF_EMPTY}}}),
        {"spec": {"components": [{"name": "a", "podTemplate": {"metadata": {"annotations": {}}}}]}},
    ),
    (_PATHLESS, {"spec": {"name": "x", "compilationCache": {"pvcName": "c"}, "podTemplate": _BOTH_MOUNTS}}),
    (
        _object(COMPONENT, RIGHT, spec={"name": "x", "compilationCache": {"pvcName": "c", "mountPath": "/b"}}),
        {"spec": {"volumeMounts": [_AT_B], "extraPodSpec": {"mainContainer": {"name": "main", "volumeMounts": [None]}}}},
    ),
    (
        _object(GRAPH, RIGHT, spec={"components": [{"name": "a", "podTemplate": _EMPTY_COMMAND}]}),
        {"spec": {"services": {"a": {"volumeMounts": _CACHE_AND_CACHE}}}},
    ),
]
