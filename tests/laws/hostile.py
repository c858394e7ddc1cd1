"""Annotations under the reserved keys that nobody wrote there honestly, or that belong to another object or version."""

import json
from typing import Any, Final, Protocol

from dynamo_webhooks.conversion.kind import LEFT

SHORT: Final = {
    "DynamoGraphDeployment": "dgd",
    "DynamoComponentDeployment": "dcd",
    "DynamoGraphDeploymentRequest": "dgdr",
    "DynamoGraphDeploymentScalingAdapter": "dgdsa",
}
# Texts that can't be used: no JSON, the wrong shape, the wrong types, too deep, too long.
DAMAGED: Final = (
    "{oops",
    "",
    "null",
    "[]",
    "3",
    '"text"',
    "true",
    "{}",
    '{"version":"one"}',
    '{"version":1,"spec":[1]}',
    '{"version":1,"spec":null}',
    '{"version":1,"spec":{"services":{"a":{"replicas":"two"}}}}',
    '{"version":1,"spec":{"components":[{"name":"a","replicas":"two"}]}}',
    '{"version":1,"spec":{},"kept":"no list"}',
    '{"version":1,"spec":{},"kept":[[["spec"]],[[],3],[["metadata","name"],"evil"],[["kind"],"Evil"]]}',
    '{"version":1,"spec":{},"rawJSON":[{"path":"serviceName","nil":true},7,null]}',
    '{"version":1,"spec":{}} trailing',
    '{"a":' * 5000 + "1" + "}" * 5000,
    "[" * 50_000,
    '{"version":1,"spec":{"unknown":"' + "x" * 50_000 + '"}}',
    '{"spec":NaN}',
    '{"version":1,"spec":{},"both":1}',
    '{"spec":{"model":"\\ud800"}}',
)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


# What the Go operator would write for other graphs (components, requests) than the one that carries it.
LEFTISH: Final[dict[str, tuple[Any, ...]]] = {
    "dgd": (
        {"services": {"a": {"dynamoNamespace": "d", "subComponentType": "decode"}, "b": None, "B": {"serviceName": "other"}}},
        {"pvcs": [{"name": "p", "size": "0"}], "services": {"a": {"sharedMemory": {"disabled": True, "size": "1Gi"}}}},
        {"services": {"a": {"frontendSidecar": {"image": "f"}, "ingress": {"enabled": True, "host": "evil"}, "replicas": 7}}},
        {"services": {"main": {"envs": [{"name": "A"}], "extraPodSpec": {"mainContainer": {"name": "", "env": [{"name": "B"}]}}}}},
        {"services": {"a": {"resources": {"requests": {"cpu": "1000m"}}, "extraPodMetadata": {}, "envFromSecret": ""}}},
    ),
    "dcd": (
        {"dynamoNamespace": "d", "scalingAdapter": {}, "volumeMounts": [{"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}]},
        {"annotations": {"a": "b"}, "gpuMemoryService": {"enabled": False, "mode": "intraPod"}},
    ),
    "dgdr": (
        {"model": "", "backend": "", "profilingConfig": {"config": {"sla": {"extra": 1}}, "profilerImage": "", "outputPVC": "out"}},
        {"enableGpuDiscovery": True, "deploymentOverrides": {"workersImage": "w", "name": "n"}},
    ),
    "dgdsa": ({"replicas": 3},),
}
RIGHTISH: Final[dict[str, tuple[Any, ...]]] = {
    "dgd": (
        {"components": [{"name": "z"}, {"name": "b"}, {"name": "a"}]},
        {
            "components": [
                {"name": "a", "podTemplate": {"metadata": {"name": "t"}, "spec": {"containers": None}}, "frontendSidecar": "side"}
            ]
        },
        {"components": [{"name": "a", "podTemplate": {"metadata": {}, "spec": {"containers": [{"name": "side"}, {"name": "main"}]}}}]},
        {"components": [{"name": "a", "experimental": {}}, {"name": "a"}, {"name": ""}]},
    ),
    "dcd": ({"name": ""}, {"name": "s", "experimental": {}}, {"name": "s", "podTemplate": {"spec": {"containers": None}}}),
    "dgdr": (
        {"model": "", "hardware": {"totalGpus": 8}, "workload": {"concurrency": 4}, "sla": {"e2eLatency": 900}, "features": {"mocker": {}}},
        {"model": "", "overrides": {"profilingJob": {"backoffLimit": 2, "template": {"spec": {"containers": [{"name": "profiler"}]}}}}},
    ),
    "dgdsa": ({"replicas": 3},),
}
STATUS: Final[dict[str, tuple[Any, ...]]] = {
    "dgd": ({"state": "", "services": {"a": {"componentKind": "", "componentName": "n1", "replicas": 0, "updatedReplicas": 0}}},),
    "dcd": ({"conditions": None, "podSelector": {"app": "x"}, "service": {"componentName": "n", "componentNames": ["n", "m"]}},),
    "dgdr": (
        {"state": "DeploymentDeleted", "deployment": {"name": "d", "state": "", "created": True}},
        {"profilingPhase": "SweepingDecode", "profilingJobName": "job-1"},
        {"phase": "Deployed", "dgdName": "d", "deploymentInfo": {"replicas": 2}},
    ),
    "dgdsa": ({"replicas": 3},),
}
LEGACY: Final = {
    "enable-gpu-discovery": ("true", "false", "", "yes"),
    "profiling-config": ('{"sla":{"ttft":1,"keep":2}}', "{oops", "[1]", "{}"),
    "config-map-ref": ('{"name":"cm","key":"k"}', "3", "{oops"),
    "output-pvc": ("out", ""),
    "deployment-overrides": ('{"name":"d","labels":{"t":"u"}}', "{}", "[]"),
    "status-backend": ("vllm", ""),
    "profiling-results": ("configmap/c",),
    "deployment-status": ('{"name":"d","state":"","created":true,"requestState":"DeploymentDeleted"}', "{oops", '{"requestState":"Odd"}'),
    "profiling-job-name": ("job-1", ""),
}
# how the annotations above differed on an object that was converted: damaged, stale, and as there were none
RECORDS: Final = (
    *DAMAGED,
    '{"legacy":[]}',
    '{"legacy":[["nvidia.com/dgdr-output-pvc",null,""]]}',
    '{"legacy":[["nvidia.com/dgdr-output-pvc","out",""],["nvidia.com/dgdr-spec",null,""]]}',
    '{"legacy":[["nvidia.com/dgdr-profiling-job-name",null,"000000000000"]]}',
    '{"packed":"!","spec":{},"version":1}',
)


class Chooser(Protocol):
    """What draws."""

    def one_of(self, values: tuple[Any, ...]) -> Any: ...

    def chance(self, one_in: int) -> bool: ...


def annotations_for(make: Chooser, kind: str, version: str) -> dict[str, str]:
    """Draws texts for the reserved keys of a kind: damaged, honest for another object, or of the wrong direction."""
    short, out = SHORT[kind], {}
    if make.chance(2):
        out[f"nvidia.com/{short}-spec"] = make.one_of(DAMAGED)
    else:
        payloads = LEFTISH if (version == LEFT) is make.chance(5) else RIGHTISH
        payload = make.one_of(payloads[short])
        envelope = {"version": 1, "spec": payload}
        texts = (envelope, payload, {**envelope, "version": 7}, {**envelope, "both": True})
        out[f"nvidia.com/{short}-spec"] = _text(make.one_of(texts))
    if make.chance(2):
        out[f"nvidia.com/{short}-status"] = make.one_of((*DAMAGED, *(_text(payload) for payload in STATUS[short])))
    if short == "dgdr" and make.chance(2):
        name = make.one_of(tuple(LEGACY))
        out[f"nvidia.com/dgdr-{name}"] = make.one_of(LEGACY[name])
    if short == "dgdr" and make.chance(5):
        out["nvidia.com/dynamo-webhooks-legacy"] = make.one_of(RECORDS)
    if make.chance(10):
        out[f"nvidia.com/dynamo-webhooks-aside.{short}-spec"] = make.one_of(DAMAGED)
    return out
