"""Names of labels, annotations, volumes, ports and children."""

import hashlib
from collections.abc import Mapping
from typing import Final

GROUP: Final = "nvidia.com/"
API_VERSION: Final = "nvidia.com/v1beta1"  # the stored version, for owner references

# labels
SELECTOR: Final = GROUP + "selector"
GRAPH_NAME: Final = GROUP + "dynamo-graph-deployment-name"
COMPONENT: Final = GROUP + "dynamo-component"
NAMESPACE: Final = GROUP + "dynamo-namespace"
COMPONENT_TYPE: Final = GROUP + "dynamo-component-type"
SUB_TYPE: Final = GROUP + "dynamo-sub-component-type"
COMPONENT_CLASS: Final = GROUP + "dynamo-component-class"
BASE_MODEL_HASH: Final = GROUP + "dynamo-base-model-hash"
DISCOVERY_ENABLED: Final = GROUP + "dynamo-discovery-enabled"
WORKER_HASH: Final = GROUP + "dynamo-worker-hash"
ENGINE_GROUP: Final = GROUP + "dynamo-failover-engine-group-member"  # of engines that go together
METRICS_ENABLED: Final = GROUP + "metrics-enabled"
MANAGED: Final = GROUP + "managed-by"
SNAPSHOT: Final = GROUP + "snapshot-"  # prefix of labels of checkpoints' pods
CHECKPOINT_ID: Final = SNAPSHOT + "checkpoint-id"
CHECKPOINT_SOURCE: Final = SNAPSHOT + "is-checkpoint-source"
RESTORE_TARGET: Final = SNAPSHOT + "is-restore-target"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
PART: Final = "app.kubernetes.io/component"
APP: Final = "app.kubernetes.io/name"
OPERATOR: Final = "dynamo-operator"
ROLE: Final = "role"  # of a pod in its group on a LeaderWorkerSet
LEADER: Final = "leader"

# annotations; the discovery backend is also a label
DISCOVERY_BACKEND: Final = GROUP + "dynamo-discovery-backend"
DISCOVERY_MODE: Final = GROUP + "dynamo-kube-discovery-mode"
ENABLE_GROVE: Final = GROUP + "enable-grove"
WORKLOAD_PROVIDER: Final = GROUP + "workload-provider"  # decided since line 1.5 when a graph is created
ENABLE_METRICS: Final = GROUP + "enable-metrics"
ORIGIN_VERSION: Final = GROUP + "dynamo-operator-origin-version"
VLLM_EXECUTOR: Final = GROUP + "vllm-distributed-executor-backend"
STRATEGY: Final = GROUP + "deployment-strategy"
MAX_SURGE: Final = GROUP + "deployment-rolling-update-max-surge"
MAX_UNAVAILABLE: Final = GROUP + "deployment-rolling-update-max-unavailable"
NO_PULL_SECRETS: Final = GROUP + "disable-image-pull-secret-discovery"
RESTART_AT: Final = GROUP + "restartAt"
CURRENT_HASH: Final = GROUP + "current-worker-hash"
TOPOLOGY_LABEL: Final = GROUP + "topology-label-key"
BASE_MODEL: Final = GROUP + "dynamo-base-model"
COMPONENT_REMAINDER: Final = GROUP + "dcd-spec"
ARTIFACT_VERSION: Final = GROUP + "snapshot-artifact-version"
TARGET_CONTAINERS: Final = GROUP + "snapshot-target-containers"
STORAGE_TYPE: Final = GROUP + "snapshot-storage-type"
STORAGE_PATH: Final = GROUP + "snapshot-storage-base-path"
CHECKPOINT_STATUS: Final = GROUP + "snapshot-checkpoint-status"  # of a Job, by the agent
RESTORE_STATUS: Final = GROUP + "snapshot-restore-status"  # of a pod, by the agent; a container's name follows
ISTIO_INJECT: Final = "sidecar.istio.io/inject"

PLANNER_ACCOUNT: Final = "planner-serviceaccount"

# the endpoint picker
PICKER_ACCOUNT: Final = "epp-serviceaccount"
PICKER_CONFIG: Final = "epp-config-dynamo.yaml"  # key of the ConfigMap, and the file's name in the pod
POOL_GROUP: Final = "inference.networking.k8s.io"

MAIN: Final = "main"  # the main container

# component types
FRONTEND: Final = "frontend"
WORKER: Final = "worker"
PREFILL: Final = "prefill"
DECODE: Final = "decode"
PLANNER: Final = "planner"
EPP: Final = "epp"
WORKERS: Final = frozenset({WORKER, PREFILL, DECODE})
TYPES: Final = WORKERS | {FRONTEND, PLANNER, EPP}  # all of v1beta1; v1alpha1 accepts any string

HTTP_PORT: Final = 8000
SYSTEM_PORT: Final = 9090
EPP_GRPC_PORT: Final = 9002
FORWARD_PASS_PORT: Final = 20380

MAX_LABEL_CHARACTERS: Final = 63
DISAGGREGATED: Final = "disaggregatedset"  # a workload provider since line 1.7
_ON_GROVE: Final = {"grove": True, "component": False, DISAGGREGATED: False}


def is_provided_by_grove(annotations: Mapping[str, object]) -> bool | None:
    """Whether a graph is remembered to run on Grove; None for one that remembers nothing, as on line 1.2."""
    return _ON_GROVE.get(str(annotations.get(WORKLOAD_PROVIDER)))


def lower_name(name: str) -> str:
    """A component's name in names of objects."""
    return name.lower()


def dns_name(name: str) -> str:
    """An object's name for a Service: lower case, without dots."""
    return name.lower().replace(".", "-")


def component_name(graph: str, component: str, worker_hash: str = "") -> str:
    """The name of the component's object, with the generation of workers."""
    return f"{graph}-{lower_name(component)}" + (f"-{worker_hash}" if worker_hash else "")


def discovery_account(owner: str) -> str:
    """The service account for discovery, of a graph or a standalone component."""
    return f"{owner}-k8s-service-discovery"


def claim_template(owner: str, component: str) -> str:
    """The ResourceClaimTemplate of a component whose containers share GPUs."""
    return f"{owner}-{lower_name(component)}-gpu"


def digest(text: str, digits: int = 8) -> str:
    """The first hexadecimal digits of a SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def shorten_name(name: str, limit: int) -> str:
    """An object's name of at most so many characters: one that is too long ends with a digest instead."""
    return name if len(name) <= limit else f"{name[: limit - 9].rstrip('-')}-{digest(name)}"


def as_label(value: str) -> str:
    """A label's value: one that is too long is cut, with a digest."""
    if len(value) <= MAX_LABEL_CHARACTERS:
        return value
    return f"{value[: MAX_LABEL_CHARACTERS - 9]}-{digest(value)}"
