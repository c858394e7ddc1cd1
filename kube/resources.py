"""Which resources this project reads and writes, with what a path to them needs."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from ..api.kinds import BY_NAME, GROUP
from .errors import InvalidError


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of one served version."""

    group: str  # empty for the core group
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path; without a namespace all of them, without a name the collection.

        Users' objects name others: no name leads to another path. Raises: InvalidError for one that no object can have.
        """
        for field, segment in (("name", name), ("namespace", namespace)):
            if segment in (".", "..") or "/" in segment or "%" in segment:
                raise InvalidError(422, "Invalid", f'metadata.{field}: must be one segment of a path, got "{segment[:80]}"')
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace)]
        parts += [part for part in (self.plural, quote(name, safe=":="), subresource) if part]
        return "/" + "/".join(parts)


_ADMISSION: Final = "admissionregistration.k8s.io"
SECRETS: Final = Resource("", "v1", "secrets", "Secret")
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap")
SERVICES: Final = Resource("", "v1", "services", "Service")
SERVICE_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount")
CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
PODS: Final = Resource("", "v1", "pods", "Pod")
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES: Final = Resource("", "v1", "nodes", "Node", namespaced=False)
CORE_EVENTS: Final = Resource("", "v1", "events", "Event")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
ENDPOINT_SLICES: Final = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
JOBS: Final = Resource("batch", "v1", "jobs", "Job")
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
DISRUPTION_BUDGETS: Final = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
NETWORK_POLICIES: Final = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
INGRESSES: Final = Resource("networking.k8s.io", "v1", "ingresses", "Ingress")
ROLES: Final = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS: Final = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLES: Final = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
CLAIM_TEMPLATES: Final = Resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate")
DEVICE_CLASSES: Final = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
CLIQUE_SETS: Final = Resource("grove.io", "v1alpha1", "podcliquesets", "PodCliqueSet")
INFERENCE_POOLS: Final = Resource("inference.networking.k8s.io", "v1", "inferencepools", "InferencePool")
LEADER_WORKER_SETS: Final = Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet")
DISAGGREGATED_SETS: Final = Resource("disaggregatedset.x-k8s.io", "v1", "disaggregatedsets", "DisaggregatedSet")
QUEUES: Final = Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False)  # of the KAI scheduler
VALIDATING: Final = Resource(_ADMISSION, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", namespaced=False)
MUTATING: Final = Resource(_ADMISSION, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", namespaced=False)
POLICIES: Final = Resource(_ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False)
POLICY_BINDINGS: Final = Resource(
    _ADMISSION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False
)
CRDS: Final = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
TOPOLOGIES: Final = Resource("grove.io", "v1alpha1", "clustertopologies", "ClusterTopology", namespaced=False)
# what those are called since line 1.5 of the operator
TOPOLOGY_BINDINGS: Final = Resource("grove.io", "v1alpha1", "clustertopologybindings", "ClusterTopologyBinding", namespaced=False)
TOKEN_REVIEWS: Final = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEWS: Final = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)


def resource_of_kind(kind: str, version: str) -> Resource:
    """The resource of one of Dynamo's kinds. Raises: KeyError for another kind."""
    return Resource(GROUP, version, BY_NAME[kind].plural, kind)
