"""The values that generated objects are made of: few of each, so that names collide, and odd ones among them. No schema is read here."""

from typing import Any, Final

NAMES: Final = ("main", "sidecar-frontend", "side", "c", "a", "B", "x-1", "")
TEXTS: Final = ("", "a", "b", "main", "sidecar-frontend", "sec", "ü\u2028<&>", "true", "0", " x ")
QUANTITIES: Final[tuple[Any, ...]] = (
    "1",
    "1000m",
    "0.5",
    "500m",
    "1e3",
    "1k",
    "1024Mi",
    "1Gi",
    "0",
    "00",
    "0Gi",
    1,
    0,
    1024,
    "+1Gi",
    "-1",
    "1.1Gi",
    "1E",
    "1000000u",
    "1.500",
    "12e2",
    "9223372036854775808",
)
# Below v1alpha1's resources any text passes; these don't read as quantities.
ODD_QUANTITIES: Final = ("", "bad", ".", " 1", "1 Gi", "1e", "Ki", "99999999999999999999999999Ei")
TIMES: Final = ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00.123456Z", "0001-01-01T00:00:00Z")
INTEGERS: Final = (0, 1, 2, 3, 80, 8080, -1, 2147483647, -2147483648)
LONG: Final = (*INTEGERS, 9007199254740993, 9223372036854775807, -9223372036854775808)
NUMBERS: Final = (0, 1, 0.5, 0.123456789, 100.9, 2.0, 3000000000, -1.5, 1e-7, 1e21, 9007199254740993)
PORTS: Final = (80, 8080, 0, "http", "", "80", "0")
PATHS: Final = ("/a", "/b", "/c", "", "/c/")
ENVS: Final = ("A", "B", "C", "PATH", "")
ROLES: Final = ("worker", "prefill", "decode", "main", "frontend", "planner", "epp", "custom", "", "Prefill")
TYPES: Final = ("worker", "prefill", "decode", "frontend", "planner", "epp")  # what v1beta1's schema admits: others aren't said back
MODES: Final = ("intraPod", "interPod", "IntraPod", "InterPod", "", "Auto", "Manual", "other")

# By member name, wherever it stands: the texts that conversion looks at.
BY_NAME: Final[dict[str, tuple[Any, ...]]] = {
    "componentType": ROLES,
    "subComponentType": ROLES,
    "type": TYPES,
    "mode": MODES,
    "name": NAMES,
    "serviceName": ("", "x", "main", "other", "a"),
    "componentName": ("", "n1", "n2"),
    "frontendSidecar": ("sidecar-frontend", "side", "main", "none", ""),
    "mountPath": PATHS,
    "mountPoint": PATHS,
    "envFromSecret": ("sec", "other", ""),
    "pvcName": ("c", "a", "side"),
    "gpuType": ("nvidia.com/gpu", "amd.com/gpu", "", "gpu.intel.com/xe"),
    "state": ("", "Pending", "Initializing", "Profiling", "Ready", "Deploying", "DeploymentDeleted", "Failed", "pending", "successful"),
    "phase": ("", "Pending", "Profiling", "Ready", "Deploying", "Deployed", "Failed", "Restarting"),
    "dgdName": ("d", "e", ""),
    "image": ("i", "j", ""),
    "profilerImage": ("i", "j", ""),
    "workersImage": ("i", "w", ""),
    "optimizationType": ("latency", "throughput", "cost", ""),
    "cpu": (*QUANTITIES, *ODD_QUANTITIES),
    "memory": (*QUANTITIES, *ODD_QUANTITIES),
    "gpu": (*QUANTITIES, *ODD_QUANTITIES),
}
# Keys of maps, by the map's name.
KEYS: Final[dict[str, tuple[str, ...]]] = {
    "limits": ("cpu", "memory", "nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "ephemeral-storage", "x.io/y"),
    "requests": ("cpu", "memory", "nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "ephemeral-storage", "x.io/y"),
    "custom": ("x.io/y", "cpu", "memory", "nvidia.com/gpu", "amd.com/gpu", "gpu", ""),
    "services": ("a", "b", "B", "main", "x-1", "z"),
    "components": ("a", "b", "B", "main", "x-1", "z"),
}
ANY_KEYS: Final = ("a", "b", "main", "nvidia.com/x", "", "ü")
# Members that conversion treats specially; half of the members drawn for an object are of these where it has them.
FAVOURITES: Final = {
    "annotations",
    "services",
    "components",
    "pvcs",
    "podTemplate",
    "extraPodSpec",
    "extraPodMetadata",
    "mainContainer",
    "containers",
    "envs",
    "env",
    "envFrom",
    "envFromSecret",
    "volumeMounts",
    "compilationCache",
    "resources",
    "limits",
    "requests",
    "custom",
    "livenessProbe",
    "readinessProbe",
    "httpGet",
    "port",
    "frontendSidecar",
    "componentType",
    "subComponentType",
    "type",
    "sharedMemory",
    "sharedMemorySize",
    "scalingAdapter",
    "gpuMemoryService",
    "failover",
    "checkpoint",
    "experimental",
    "componentNames",
    "componentName",
    "profilingConfig",
    "config",
    "sla",
    "workload",
    "modelCache",
    "features",
    "planner",
    "overrides",
    "profilingJob",
    "template",
    "spec",
    "status",
    "state",
    "phase",
    "deployment",
    "profilingResults",
    "name",
    "mountPath",
    "mountPoint",
    "useAsCompilationCache",
    "eppConfig",
    "enabled",
}
# Free JSON for members whose schema keeps what it doesn't know; the profiling blob's own members among it.
FREE: Final[tuple[Any, ...]] = (
    {},
    {"a": 1},
    {"sla": {"ttft": 500, "isl": 2048}},
    {"sla": {"isl": 100.9, "osl": 3000000000, "itl": 20.5, "optimizationType": "latency", "extra": 9007199254740993}},
    {"sla": {"ttft": "fast", "isl": "1024", "osl": None, "optimizationType": "cost"}},
    {"sla": {}, "deployment": {}, "planner": {}},
    {"sla": [1], "deployment": "x", "planner": []},
    {"sla": None, "planner": None, "deployment": None},
    {"deployment": {"modelCache": {"pvcName": "p", "modelPathInPvc": "", "mode": "rw"}, "z": 1}},
    {"deployment": {"modelCache": {"pvcName": 1}}, "planner": {"z": 1, "a": {"b": [None, 1.0, True]}}},
    {"deployment": {"modelCache": {}}, "other": [1, 2.0, {"x": None}]},
    {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}},
    {"metadata": {}, "spec": {"containers": None}},
    {"plugins": [{"type": 1, "parameters": 9007199254740993}, {"name": "a", "parameters": None}], "featureGates": {}, "extra": 1.0},
    {"plugins": [], "schedulingProfiles": None, "saturationDetector": "x"},
)
UNKNOWN: Final[tuple[Any, ...]] = (1, "x", None, {}, [], {"deep": [{"er": 1.0}]}, False)
