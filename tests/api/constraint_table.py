"""Every constraint and default that the API server enforces, as rows of path and facets; None means that a facet is absent."""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.line import OLDEST
from dynamo_webhooks.api.models import constraints
from dynamo_webhooks.api.models.constraints import Constraint, validations
from dynamo_webhooks.api.models.facets import COMPONENT_PATTERN, DOMAIN_PATTERN, LABEL_KEY_PATTERN, LABEL_PATTERN

Node: TypeAlias = dict[str, Any]
Row: TypeAlias = tuple[str, Node]

FREE: Final[Node] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": None}
RESOURCE: Final[Node] = {**FREE, "x-kubernetes-embedded-resource": True}
FLAG: Final[Node] = {"type": "boolean", "default": None}
TEXT: Final[Node] = {"type": "string", "default": None, "minLength": None, "enum": None}
FILLED: Final[Node] = {"type": "string", "minLength": 1}
DOMAIN: Final[Node] = {"type": "string", "pattern": DOMAIN_PATTERN, "maxLength": None}
LABEL: Final[Node] = {"type": "string", "pattern": LABEL_PATTERN, "minLength": 1, "maxLength": 63}
COUNT: Final[Node] = {"type": "integer", "format": "int32", "minimum": 0, "maximum": None, "default": None}
QUANTITY: Final[Node] = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
BY_NAME: Final[Node] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
BY_TYPE: Final[Node] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
SET: Final[Node] = {"x-kubernetes-list-type": "set"}
FRAMEWORK: Final[Node] = {"enum": ["sglang", "vllm", "trtllm"], "default": None}
STATE: Final[Node] = {"enum": ["initializing", "pending", "successful", "failed"], "default": "initializing"}


def one_of(*values: str, default: str | None = None) -> Node:
    return {"type": "string", "enum": list(values), "default": default}


def rules(*known: Constraint) -> Node:
    return validations(*(each._replace(since=OLDEST, until=None) for each in known if each.is_of(OLDEST)))


def needs(*names: str) -> Node:
    return {"required": sorted(names) or None}


def under(prefix: str, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple((f"{prefix}.{path}" if path else prefix, facets) for path, facets in rows)


def atleast(minimum: int, default: int | None = None) -> Node:
    return {"type": "integer", "format": "int32", "minimum": minimum, "default": default}


def identity(model: Node) -> tuple[Row, ...]:
    return (
        ("", needs("model", "backendFramework")),
        ("model", model),
        ("backendFramework", one_of("vllm", "sglang", "trtllm")),
        ("tensorParallelSize", atleast(1, 1)),
        ("pipelineParallelSize", atleast(1, 1)),
        ("maxModelLen", atleast(1)),
    )


EPP: Final[tuple[Row, ...]] = (
    ("configMapRef", {"$ref": "io.k8s.api.core.v1.ConfigMapKeySelector"}),
    ("config", {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **needs("plugins", "schedulingProfiles")}),
    ("config.plugins[]", needs("type")),
    ("config.plugins[].parameters", {"x-kubernetes-preserve-unknown-fields": True, "type": None}),
    ("config.schedulingProfiles[]", needs("name", "plugins")),
    ("config.schedulingProfiles[].plugins[]", needs("pluginRef")),
    ("config.schedulingProfiles[].plugins[].weight", {"type": "integer"}),
)
JOB: Final[tuple[Row, ...]] = (("gmsClientContainers", SET), ("gmsClientContainers[]", LABEL), ("podTemplate", FREE))
MEMORY_LISTS: Final[tuple[Row, ...]] = (
    ("deviceClassName", {"type": "string", "default": "gpu.nvidia.com"}),
    ("extraClientContainers", SET),
    ("extraClientContainers[]", LABEL),
    ("extraClientPods", BY_NAME),
    ("extraClientPods[]", needs("name", "podTemplate")),
    ("extraClientPods[].name", LABEL),
    ("extraClientPods[].podTemplate", FREE),
)
MEMORY_ALPHA: Final[tuple[Row, ...]] = (
    ("", {**needs("enabled"), **rules(*constraints.GMS_ALPHA)}),
    ("enabled", FLAG),
    ("mode", one_of("intraPod", "interPod", default="intraPod")),
    *MEMORY_LISTS,
)
SHARED_MEMORY: Final[tuple[Row, ...]] = (("", rules(constraints.SHM_SIZE)), ("disabled", FLAG), ("size", QUANTITY))
COMPONENT_ALPHA: Final[tuple[Row, ...]] = (
    ("serviceName", TEXT),
    ("componentType", TEXT),
    ("globalDynamoNamespace", FLAG),
    ("replicas", COUNT),
    ("resources.limits.gpu", TEXT),
    ("resources.requests.cpu", TEXT),
    ("resources.claims[]", {"$ref": "io.k8s.api.core.v1.ResourceClaim"}),
    ("autoscaling", needs()),
    ("envs[]", {"$ref": "io.k8s.api.core.v1.EnvVar"}),
    ("livenessProbe", {"$ref": "io.k8s.api.core.v1.Probe"}),
    ("volumeMounts[]", needs("name")),
    ("volumeMounts[].useAsCompilationCache", {"type": "boolean", "default": False}),
    ("ingress", needs()),
    ("ingress.tls", needs()),
    ("modelRef", needs("name")),
    ("modelRef.name", TEXT),
    *under("sharedMemory", SHARED_MEMORY),
    ("extraPodSpec", {"$ref": "io.k8s.api.core.v1.PodSpec", "required": []}),
    ("extraPodSpec.mainContainer", {"$ref": "io.k8s.api.core.v1.Container", "required": []}),
    ("multinode", needs("nodeCount")),
    ("multinode.nodeCount", {**atleast(2, 2), "maximum": None}),
    ("scalingAdapter", needs()),
    ("scalingAdapter.enabled", {"type": "boolean", "default": False}),
    *under("eppConfig", EPP),
    ("eppConfig", {"x-kubernetes-validations": None}),
    ("frontendSidecar", needs("image")),
    ("checkpoint", {**rules(*constraints.CHECKPOINT_ALPHA), **needs()}),
    ("checkpoint.enabled", {"type": "boolean", "default": False}),
    ("checkpoint.mode", one_of("Auto", "Manual", default="Auto")),
    ("checkpoint.targetContainerName", {**LABEL, "default": "main"}),
    *under("checkpoint.identity", identity(TEXT)),
    *under("checkpoint.job", JOB),
    ("topologyConstraint", needs("packDomain")),
    ("topologyConstraint.packDomain", DOMAIN),
    *under("gpuMemoryService", MEMORY_ALPHA),
    ("failover", needs("enabled")),
    ("failover.mode", one_of("intraPod", "interPod", default="intraPod")),
    ("failover.numShadows", {**atleast(1, 1), "maximum": None}),
)
COMPONENT_BETA: Final[tuple[Row, ...]] = (
    ("", rules(constraints.EPP_TYPE)),
    ("name", {"type": "string", "pattern": COMPONENT_PATTERN, "minLength": 1, "maxLength": 63}),
    ("type", one_of("frontend", "worker", "prefill", "decode", "planner", "epp")),
    ("podTemplate", {"$ref": "io.k8s.api.core.v1.PodTemplateSpec"}),
    ("replicas", COUNT),
    ("multinode", needs()),
    ("multinode.nodeCount", {**atleast(2, 2), "maximum": None}),
    ("sharedMemorySize", QUANTITY),
    ("modelRef", needs("name")),
    ("modelRef.name", FILLED),
    ("scalingAdapter", {"type": "object", "properties": {}}),
    *under("eppConfig", EPP),
    ("eppConfig", rules(constraints.EPP_ONE_SOURCE)),
    ("frontendSidecar", TEXT),
    ("compilationCache", needs("pvcName")),
    ("compilationCache.pvcName", FILLED),
    ("topologyConstraint", needs("packDomain")),
    ("topologyConstraint.packDomain", DOMAIN),
    ("experimental.gpuMemoryService", {**rules(*constraints.GMS_BETA), **needs()}),
    ("experimental.gpuMemoryService.mode", one_of("IntraPod", "InterPod", default="IntraPod")),
    *under("experimental.gpuMemoryService", MEMORY_LISTS),
    ("experimental.failover.mode", one_of("IntraPod", "InterPod", default="IntraPod")),
    ("experimental.failover.numShadows", {**atleast(1, 1), "maximum": 1}),
    ("experimental.checkpoint", {**rules(*constraints.CHECKPOINT_BETA), **needs()}),
    ("experimental.checkpoint.mode", one_of("Auto", "Manual", default="Auto")),
    ("experimental.checkpoint.targetContainerName", {**LABEL, "default": "main"}),
    *under("experimental.checkpoint.identity", identity(FILLED)),
    *under("experimental.checkpoint.job", JOB),
)
GRAPH: Final[tuple[Row, ...]] = (
    ("spec.backendFramework", FRAMEWORK),
    ("spec.restart", needs("id")),
    ("spec.restart.id", FILLED),
    ("spec.restart.strategy", needs()),
    ("spec.restart.strategy.type", one_of("Sequential", "Parallel", default="Sequential")),
    ("spec.experimental.kvTransferPolicy", {**needs("domain"), **rules(*constraints.KVT)}),
    ("spec.experimental.kvTransferPolicy.domain", DOMAIN),
    (
        "spec.experimental.kvTransferPolicy.labelKey",
        {"pattern": LABEL_KEY_PATTERN, "minLength": 1, "maxLength": 317, **rules(constraints.KVT_PREFIX_LENGTH)},
    ),
    ("spec.experimental.kvTransferPolicy.enforcement", one_of("required", "preferred", default="required")),
    ("spec.experimental.kvTransferPolicy.preferredWeight", {"type": "number", "minimum": 0, "maximum": 1, "default": None}),
    ("spec.topologyConstraint.packDomain", DOMAIN),
    ("status", needs("state")),
    ("status.state", STATE),
    ("status.observedGeneration", {"type": "integer", "format": "int64"}),
    ("status.rollingUpdate.phase", one_of("Pending", "InProgress", "Completed", "Failed", "")),
)
REPLICAS: Final[tuple[Row, ...]] = (
    ("componentKind", one_of("PodClique", "PodCliqueScalingGroup", "Deployment", "LeaderWorkerSet")),
    ("replicas", COUNT),
    ("updatedReplicas", COUNT),
    ("readyReplicas", COUNT),
    ("availableReplicas", COUNT),
)
REPLICAS_ALPHA: Final = (("", needs("componentKind", "componentName", "replicas", "updatedReplicas")), *REPLICAS)
REPLICAS_BETA: Final = (("", needs("componentKind", "replicas", "updatedReplicas")), *REPLICAS)
SKUS: Final = (
    "gb200_sxm",
    "gb10",
    "b200_sxm",
    "h200_sxm",
    "h100_sxm",
    "h100_pcie",
    "a100_sxm",
    "a100_pcie",
    "a30",
    "l40s",
    "l40",
    "l4",
    "v100_sxm",
    "v100_pcie",
    "t4",
    "mi200",
    "mi300",
)


def twice(*values: str, default: str | None = None) -> Node:
    return {"type": "string", "enum": None, "allOf": [{"enum": list(values)}] * 2, "default": default}


TABLE: Final[dict[str, tuple[Row, ...]]] = {
    "DGD v1alpha1": (
        *GRAPH,
        ("spec.pvcs", {"maxItems": 100}),
        ("spec.pvcs[]", {**needs("name"), **rules(constraints.PVC_CREATE)}),
        ("spec.pvcs[].create", FLAG),
        ("spec.pvcs[].size", QUANTITY),
        ("spec.services", {"maxProperties": 25}),
        *under("spec.services{}", COMPONENT_ALPHA),
        ("spec.topologyConstraint", needs("topologyProfile")),
        ("spec.topologyConstraint.topologyProfile", FILLED),
        ("status.conditions", {"x-kubernetes-list-type": None}),
        *under("status.services{}", REPLICAS_ALPHA),
    ),
    "DGD v1beta1": (
        *GRAPH,
        ("spec.components", {"maxItems": 25, **BY_NAME, **rules(constraints.ONE_EPP, constraints.UNIQUE_NAMES)}),
        ("spec.components[]", needs("name")),
        *under("spec.components[]", COMPONENT_BETA),
        ("spec.topologyConstraint", needs("clusterTopologyName")),
        ("spec.topologyConstraint.clusterTopologyName", FILLED),
        ("status.conditions", BY_TYPE),
        *under("status.components{}", REPLICAS_BETA),
    ),
    "DCD v1alpha1": (
        *under("spec", COMPONENT_ALPHA),
        ("spec", needs()),
        ("spec.backendFramework", FRAMEWORK),
        ("status", needs("conditions")),
        *under("status.service", REPLICAS_ALPHA),
    ),
    "DCD v1beta1": (
        *under("spec", COMPONENT_BETA),
        ("spec", needs()),
        ("spec.backendFramework", FRAMEWORK),
        ("status", needs()),
        ("status.conditions", BY_TYPE),
        *under("status.component", REPLICAS_BETA),
    ),
    "DGDR v1alpha1": (
        ("spec", needs("model", "backend", "profilingConfig")),
        ("spec.model", TEXT),
        ("spec.backend", one_of("auto", "vllm", "sglang", "trtllm")),
        ("spec.profilingConfig", needs("profilerImage")),
        ("spec.profilingConfig.config", FREE),
        ("spec.profilingConfig.configMapRef", needs("name")),
        ("spec.profilingConfig.configMapRef.key", {"default": "disagg.yaml"}),
        ("spec.profilingConfig.resources", {"$ref": "io.k8s.api.core.v1.ResourceRequirements"}),
        ("spec.profilingConfig.tolerations[]", {"$ref": "io.k8s.api.core.v1.Toleration"}),
        ("spec.useMocker", {"default": False}),
        ("spec.enableGpuDiscovery", {"default": True}),
        ("spec.autoApply", {"default": False}),
        ("status", needs("state")),
        (
            "status.state",
            one_of(*("Initializing", "Pending", "Profiling", "Deploying", "Ready", "DeploymentDeleted", "Failed"), default="Initializing"),
        ),
        ("status.generatedDeployment", RESOURCE),
        ("status.deployment", needs("state")),
        ("status.deployment.state", STATE),
    ),
    "DGDR v1beta1": (
        ("spec", needs("model")),
        ("spec.model", FILLED),
        ("spec.backend", twice("auto", "sglang", "trtllm", "vllm", default="auto")),
        ("spec.searchStrategy", twice("rapid", "thorough", default="rapid")),
        ("spec.autoApply", {"default": True}),
        ("spec.modelCache.pvcMountPath", {"default": "/opt/model-cache"}),
        ("spec.hardware.gpuSku", twice(*SKUS)),
        ("spec.hardware.vramMb", {"type": "number", "minimum": None}),
        ("spec.hardware.totalGpus", {"type": "integer", "format": "int32", "minimum": None}),
        ("spec.workload.isl", {"type": "integer", "format": "int32", "default": 4000, "minimum": None}),
        ("spec.workload.osl", {"type": "integer", "format": "int32", "default": 1000}),
        ("spec.workload.requestRate", {"type": "number"}),
        ("spec.sla.ttft", {"type": "number", "minimum": None}),
        ("spec.sla.optimizationType", one_of("latency", "throughput")),
        ("spec.overrides.profilingJob", {"$ref": "io.k8s.api.batch.v1.JobSpec"}),
        ("spec.overrides.dgd", RESOURCE),
        ("spec.features.planner", FREE),
        ("spec.features.mocker", needs()),
        ("status", needs()),
        ("status.phase", one_of("Pending", "Profiling", "Ready", "Deploying", "Deployed", "Failed")),
        (
            "status.profilingPhase",
            one_of(*("Initializing", "SweepingPrefill", "SweepingDecode", "SelectingConfig", "BuildingCurves", "GeneratingDGD", "Done")),
        ),
        ("status.conditions", BY_TYPE),
        ("status.profilingResults.selectedConfig", FREE),
    ),
    "DGDSA v1alpha1": (
        ("spec", needs("replicas", "dgdRef")),
        ("spec.replicas", COUNT),
        ("spec.dgdRef", needs("name", "serviceName")),
        ("spec.dgdRef.name", FILLED),
        ("spec.dgdRef.serviceName", FILLED),
        ("status", needs()),
        ("status.lastScaleTime", {"format": "date-time"}),
    ),
    "DGDSA v1beta1": (
        ("spec", needs("replicas", "dgdRef")),
        ("spec.replicas", COUNT),
        ("spec.dgdRef", needs("name", "componentName")),
        ("spec.dgdRef.name", FILLED),
        ("spec.dgdRef.componentName", FILLED),
        ("status", needs("replicas")),
    ),
    "CKPT v1alpha1": (
        ("", rules(constraints.CKPT_IDENTITY_IMMUTABLE)),
        ("spec", needs("identity", "job")),
        *under("spec.identity", identity(TEXT)),
        ("spec.job", needs("podTemplateSpec")),
        ("spec.job.podTemplateSpec", {"$ref": "io.k8s.api.core.v1.PodTemplateSpec"}),
        ("spec.job.targetContainerName", {**LABEL, "default": "main"}),
        *under("spec.job.sharedMemory", SHARED_MEMORY),
        ("spec.job.activeDeadlineSeconds", {"type": "integer", "format": "int64", "minimum": 1, "default": 3600}),
        ("spec.job.backoffLimit", COUNT),
        ("spec.job.ttlSecondsAfterFinished", COUNT),
        *under("spec.gpuMemoryService", MEMORY_ALPHA),
        ("status.phase", one_of("Pending", "Creating", "Ready", "Failed")),
        ("status.storageType", one_of("pvc", "s3", "oci")),
    ),
    "MODEL v1alpha1": (
        ("spec", needs("modelName", "baseModelName")),
        ("spec.modelName", TEXT),
        ("spec.modelType", one_of("base", "lora", "adapter", default="base")),
        ("spec.source", needs("uri")),
        ("status", needs("readyEndpoints", "totalEndpoints")),
        ("status.endpoints[]", needs("address", "ready")),
    ),
    "DWM v1alpha1": (("spec", needs("data")), ("spec.data", FREE)),
}


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields a node and all below it, without entering embedded types."""
    yield node
    for member in node.get("properties", {}).values():
        yield from nodes(member)
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from nodes(node[key])
