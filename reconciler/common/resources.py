"""Kinds that the loop reads and writes, as resources, and names that it writes on objects to recognise its own. Render names children."""

from typing import Final

from ...api.kinds import BY_NAME, GROUP
from ...kube import resources
from ...kube.protocol import Node
from ...kube.resources import Resource, resource_of_kind

REQUEST_NAME: Final = "dgdr.nvidia.com/name"
MANAGER: Final = "dynamo-webhooks-reconciler"  # field manager of all writes, component of all Events
_OWN: Final = "webhooks.nvidia.com/"
APPLIED_HASH: Final = _OWN + "applied-hash"  # annotation of a child: digest of the last apply
PODS_HASH: Final = _OWN + "pods-hash"  # annotation of what controls pods: digest of their templates, where pull secrets are found
PULL_SECRET: Final = _OWN + "pull-secret"  # label of Secrets that pods get by the registries of their images
RECONCILED: Final = _OWN + "reconciled"  # label of children of other groups, for watches
RETRY: Final = _OWN + "retry"  # annotation of what failed: each new value asks for another try
WORKER_DIGEST: Final = _OWN + "worker-digest"  # annotation of a graph whose workers keep a generation named by another operator
FINALIZER: Final = "nvidia.com/finalizer"  # the Go operator's; the reconciler sets none
POD_ACCOUNT: Final = "nvidia.com/dynamo-component-pod"  # label of service accounts for pods that discover by etcd
GRAPH: Final = "DynamoGraphDeployment"
COMPONENT: Final = "DynamoComponentDeployment"
ADAPTER: Final = "DynamoGraphDeploymentScalingAdapter"
LWS: Final = "LeaderWorkerSet"
STATEFUL_SET: Final = "StatefulSet"  # the workers of one replica of a LeaderWorkerSet
SET_NAME: Final = "leaderworkerset.sigs.k8s.io/name"  # its label of everything that it makes
DISAGGREGATED_SET: Final = "DisaggregatedSet"
CLIQUES: Final = "PodCliqueSet"
CLIQUE: Final = "PodClique"
CLIQUE_GROUP: Final = "PodCliqueScalingGroup"
POD_GANG: Final = "PodGang"
MODEL: Final = "DynamoModel"
CHECKPOINT: Final = "DynamoCheckpoint"
SLICE: Final = resources.ENDPOINT_SLICES.kind
SECRET: Final = resources.SECRETS.kind
GRAPHS: Final = resource_of_kind(GRAPH, "v1beta1")
GRAPHS_ALPHA: Final = resource_of_kind(GRAPH, "v1alpha1")  # of results of profiling, which are applied in their own version
COMPONENTS: Final = resource_of_kind(COMPONENT, "v1beta1")
ADAPTERS: Final = resource_of_kind(ADAPTER, "v1beta1")
MODELS: Final = resource_of_kind(MODEL, "v1alpha1")
CHECKPOINTS: Final = resource_of_kind(CHECKPOINT, "v1alpha1")
REQUESTS: Final = resource_of_kind("DynamoGraphDeploymentRequest", "v1beta1")
WORKER_METADATA: Final = resource_of_kind("DynamoWorkerMetadata", "v1alpha1")  # of each worker that frontends know
JOBS: Final = resources.JOBS
CLIQUE_SETS: Final = resources.CLIQUE_SETS
LEADER_WORKER_SETS: Final = resources.LEADER_WORKER_SETS
DISAGGREGATED_SETS: Final = resources.DISAGGREGATED_SETS
STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", STATEFUL_SET)
POD_CLIQUES: Final = Resource("grove.io", "v1alpha1", "podcliques", CLIQUE)
CLIQUE_GROUPS: Final = Resource("grove.io", "v1alpha1", "podcliquescalinggroups", CLIQUE_GROUP)
POD_GANGS: Final = Resource("scheduler.grove.io", "v1alpha1", "podgangs", POD_GANG)
VIRTUAL_SERVICES: Final = Resource("networking.istio.io", "v1beta1", "virtualservices", "VirtualService")
DESTINATION_RULES: Final = Resource("networking.istio.io", "v1beta1", "destinationrules", "DestinationRule")
# children of other groups, which carry the reconciler's label
PLAIN: Final = (resources.DEPLOYMENTS, resources.SERVICES, resources.ROLES, resources.ROLE_BINDINGS)
CHILDREN: Final = (
    *PLAIN,
    resources.SERVICE_ACCOUNTS,
    resources.INGRESSES,
    resources.CLAIM_TEMPLATES,
    resources.CONFIG_MAPS,
    CLIQUE_SETS,
    LEADER_WORKER_SETS,
    DISAGGREGATED_SETS,
    resources.INFERENCE_POOLS,
    VIRTUAL_SERVICES,
    DESTINATION_RULES,
)
_OWN_KINDS: Final = (GRAPHS, COMPONENTS, ADAPTERS, MODELS, CHECKPOINTS, REQUESTS)
_BELOW: Final = (STATEFUL_SETS, POD_CLIQUES, CLIQUE_GROUPS, POD_GANGS, resources.CLAIMS, resources.SECRETS, JOBS)
_KNOWN: Final = {each.kind: each for each in (*_OWN_KINDS, *CHILDREN, *_BELOW)}
CREATED_ONCE: Final = frozenset({"PersistentVolumeClaim", SECRET, CHECKPOINT})  # they hold data: made when absent, never changed
NEVER_PRUNED: Final = CREATED_ONCE | {resources.PODS.kind}  # never pruned: pods are not the reconciler's children
ROUTES: Final = frozenset({"InferencePool", "VirtualService", "DestinationRule", "Ingress", "ResourceClaimTemplate"})  # beside workloads
# they can't be changed, so they are deleted and created again
RECREATED: Final = frozenset({"RoleBinding", "ResourceClaimTemplate"})


def resource_of(obj: Node) -> Resource:
    """The resource of a child as rendered. An unknown kind gets the usual plural."""
    kind, (group, _, version) = str(obj["kind"]), str(obj["apiVersion"]).rpartition("/")
    known = _KNOWN.get(kind)
    if known is not None and known.api_version == obj["apiVersion"]:
        return known
    plural = BY_NAME[kind].plural if group == GROUP and kind in BY_NAME else f"{kind.lower()}s"
    return Resource(group, version, plural, kind)
