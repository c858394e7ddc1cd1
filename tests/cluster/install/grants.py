"""What each service account may do, and what for: the one table that the manifests' roles are held against.

A grant that is not here fails, and so does one that is missing from the roles.
"""

from typing import Final, NamedTuple

READ: Final = ("get", "list", "watch")
HOME: Final = "home"  # the namespace that the installation is in
EVERYWHERE: Final = "everywhere"  # all namespaces, and what has none
SCOPE: Final = "dynamo-operator-namespace-scope"
SERVING: Final = "webhook-server-cert"


class Grant(NamedTuple):
    """Verbs on one resource; without a name, on all of them."""

    account: str
    where: str
    group: str
    resource: str
    name: str
    verbs: tuple[str, ...]
    purpose: str


_ADMISSION, _CRDS, _RBAC, _OURS = "admissionregistration.k8s.io", "customresourcedefinitions", "rbac.authorization.k8s.io", "nvidia.com"
_LEASES, _DISCOVERY = "coordination.k8s.io", "discovery.k8s.io"
_GRAPHS, _COMPONENTS = "dynamographdeployments", "dynamocomponentdeployments"
_REQUESTS, _ADAPTERS = "dynamographdeploymentrequests", "dynamographdeploymentscalingadapters"
_CONVERTED: Final = (_COMPONENTS, _REQUESTS, _GRAPHS, _ADAPTERS)
_WRITE: Final = (*READ, "update", "patch", "delete")
_OWN: Final = (*READ, "create", "patch", "delete")
_LOCK: Final = ("get", "update")
_SHARED: Final = (*_LOCK, "patch")
_INJECT: Final = (*READ, "patch")


def _everywhere(purpose: str, *rules: tuple[str, str, tuple[str, ...]], account: str = "reconciler") -> list[Grant]:
    """Rights to groups and resources of any name, in all namespaces."""
    return [Grant(account, EVERYWHERE, group, resource, "", verbs, purpose) for group, resource, verbs in rules]


_SERVER: Final = (
    Grant("server", HOME, "", "secrets", SERVING, ("list", "watch"), "the pair that it serves with"),
    Grant("server", HOME, "", "configmaps", f"{SERVING}-trust", ("list", "watch"), "which issuers may be served"),
    Grant("server", EVERYWHERE, _LEASES, "leases", SCOPE, ("list", "watch"), "namespaces of other operators"),
    Grant("server", EVERYWHERE, "grove.io", "clustertopologies", "", ("list", "watch"), "topology profiles that graphs name"),
    Grant("server", EVERYWHERE, "grove.io", "clustertopologybindings", "", ("list", "watch"), "the same since line 1.5"),
)
_PROVISIONER: Final = (
    Grant("provisioner", HOME, "", "secrets", SERVING, _WRITE, "certificates for the server"),
    Grant("provisioner", HOME, "", "secrets", f"{SERVING}-ca", _WRITE, "the authority"),
    Grant("provisioner", HOME, "", "secrets", "", ("create",), "both, at the first start"),
    Grant("provisioner", HOME, "", "configmaps", f"{SERVING}-trust", (*_SHARED, "delete"), "which issuers may be served"),
    Grant("provisioner", HOME, "", "configmaps", "", ("create",), "the same, at the first start"),
    Grant("provisioner", HOME, _LEASES, "leases", f"{SERVING}-provisioner", _LOCK, "one writer"),
    Grant("provisioner", HOME, _LEASES, "leases", "", ("create",), "the same, at the first start"),
    Grant("provisioner", HOME, _DISCOVERY, "endpointslices", "", ("list", "watch"), "servers to ask for what they present"),
    Grant("provisioner", HOME, "", "events", "", ("create", "patch"), "what happened"),
    Grant("provisioner", HOME, "apps", "deployments", "dynamo-webhooks-server", ("get",), "whose uid Events name"),
    Grant("provisioner", EVERYWHERE, _ADMISSION, "validatingwebhookconfigurations", "dynamo-webhooks-validating", _INJECT, "trust"),
    Grant("provisioner", EVERYWHERE, _ADMISSION, "mutatingwebhookconfigurations", "dynamo-webhooks-mutating", _INJECT, "trust"),
    *(Grant("provisioner", EVERYWHERE, "apiextensions.k8s.io", _CRDS, f"{each}.nvidia.com", _INJECT, "trust") for each in _CONVERTED),
)
_RECONCILED: Final = (_GRAPHS, _COMPONENTS, _ADAPTERS)
_NOTED: Final = ("dynamocheckpoints", _REQUESTS, "dynamomodels")
_RECONCILER: Final = (
    Grant("reconciler", HOME, _LEASES, "leases", "dynamo-webhooks-reconciler", _LOCK, "one leader"),
    Grant("reconciler", HOME, _LEASES, "leases", "", ("create",), "the same, at the first start"),
    Grant("reconciler", EVERYWHERE, _LEASES, "leases", SCOPE, ("list", "watch"), "namespaces of other operators"),
    *_everywhere("graphs, and their finalizer", (_OURS, _GRAPHS, _INJECT)),
    *_everywhere("components of graphs, and adapters", (_OURS, _COMPONENTS, _OWN), (_OURS, _ADAPTERS, _OWN)),
    *_everywhere("how it is", *((_OURS, f"{each}/status", ("patch",)) for each in _RECONCILED)),
    *_everywhere("owner references that block deletion", *((_OURS, f"{each}/finalizers", ("update",)) for each in _RECONCILED)),
    *_everywhere("what nobody acts on", *((_OURS, each, ("list", "watch")) for each in _NOTED)),
    *_everywhere("what nobody acts on says so", *((_OURS, f"{each}/status", ("patch",)) for each in _NOTED)),
    *_everywhere("workloads", ("apps", "deployments", _OWN), ("", "services", _OWN), ("", "serviceaccounts", _OWN)),
    *_everywhere("ways into graphs", ("networking.k8s.io", "ingresses", _OWN)),
    *_everywhere("shared GPU memory", ("resource.k8s.io", "resourceclaimtemplates", _OWN)),
    *_everywhere("claims that graphs ask for", ("", "persistentvolumeclaims", ("get", "create"))),
    *_everywhere("configurations of endpoint pickers", ("", "configmaps", _OWN)),
    *_everywhere("what gateways send requests to", ("inference.networking.k8s.io", "inferencepools", _OWN)),
    *_everywhere("what happened", ("", "events", ("create", "patch"))),
    *_everywhere("discovery of pods by each other", (_RBAC, "roles", _OWN), (_RBAC, "rolebindings", _OWN)),
    Grant("reconciler", EVERYWHERE, _RBAC, "clusterroles", "dynamo-webhooks-planner", ("bind",), "planners"),
    Grant("reconciler", EVERYWHERE, _RBAC, "clusterroles", "dynamo-webhooks-epp", ("bind",), "endpoint pickers"),
    *_everywhere("to pass it on to pods, and why they wait", ("", "endpoints", READ), ("", "pods", READ)),
    *_everywhere("to pass it on to pods", (_DISCOVERY, "endpointslices", READ), (_OURS, "dynamoworkermetadatas", (*_WRITE, "create"))),
)

GRANTS: Final = (*_SERVER, *_PROVISIONER, *_RECONCILER)
# of the Job alone, which is no part of an installation
MIGRATE: Final = (
    *_everywhere("which objects there are", *((_OURS, each, ("get", "list")) for each in _CONVERTED), account="migrate"),
    *_everywhere("storing each again", *((_OURS, f"{each}/status", ("patch",)) for each in _CONVERTED), account="migrate"),
    *(
        Grant("migrate", EVERYWHERE, "apiextensions.k8s.io", resource, f"{each}.nvidia.com", verbs, "which version is stored")
        for each in _CONVERTED
        for resource, verbs in ((_CRDS, ("get", "patch")), (f"{_CRDS}/status", ("patch",)))
    ),
    Grant("migrate", "default", _DISCOVERY, "endpointslices", "", ("list",), "which API servers there are"),
)
_REVIEWS: Final = (("authentication.k8s.io", "tokenreviews", ("create",)), ("authorization.k8s.io", "subjectaccessreviews", ("create",)))
# beside those, where metrics are protected
PROTECTED: Final = tuple(
    grant for account in ("server", "provisioner", "reconciler") for grant in _everywhere("who reads", *_REVIEWS, account=account)
)
# beside those, where a component of the manifests gives more
OPTIONAL: Final = {
    "orchestrators": (
        *_everywhere(
            "workloads of several nodes",
            ("grove.io", "podcliquesets", _OWN),
            ("leaderworkerset.x-k8s.io", "leaderworkersets", _OWN),
            ("disaggregatedset.x-k8s.io", "disaggregatedsets", _OWN),
        ),
        *_everywhere("workers of LeaderWorkerSets", ("apps", "statefulsets", ("list", "watch"))),
        *_everywhere("why StatefulSets can't make pods", ("", "events", ("list",))),
        *_everywhere("topologies that graphs name", ("grove.io", "clustertopologybindings", ("get",))),
        Grant(
            "reconciler", EVERYWHERE, "apiextensions.k8s.io", _CRDS, "podcliquesets.grove.io", ("get",), "how Grove's sets are constrained"
        ),
        *_everywhere("how well pods on Grove are placed", ("scheduler.grove.io", "podgangs", ("list", "watch"))),
        *_everywhere("the queue of pods that the KAI scheduler places", ("scheduling.run.ai", "queues", ("get",))),
        *_everywhere("which claims of pods are claims of GPUs", ("resource.k8s.io", "deviceclasses", ("get",))),
        *_everywhere("what runs on Grove", ("grove.io", "podcliques", READ), ("grove.io", "podcliquescalinggroups", READ)),
        *_everywhere(
            "replicas on Grove", *(("grove.io", f"{each}/scale", ("patch",)) for each in ("podcliques", "podcliquescalinggroups"))
        ),
    ),
    "checkpoints": (
        *_everywhere("what new pods are restored from", (_OURS, "dynamocheckpoints", ("list", "watch")), account="server"),
        *_everywhere(
            "snapshots of warm workers",
            (_OURS, "dynamocheckpoints", ("get", "create", "patch")),
            (_OURS, "dynamocheckpoints/finalizers", ("update",)),
            ("batch", "jobs", _OWN),
            (_LEASES, "leases", ("get",)),
            ("apps", "daemonsets", ("list",)),
            (_OURS, "podsnapshots", ("get",)),
            ("", "pods", ("delete",)),
        ),
    ),
    "models": _everywhere("adapters of models on worker pods", (_OURS, "dynamomodels", ("get", "patch"))),
    "requests": (
        *_everywhere("requests, and their notes", (_OURS, _REQUESTS, ("get", "patch"))),
        *_everywhere("owner references that block deletion", (_OURS, f"{_REQUESTS}/finalizers", ("update",))),
        *_everywhere("graphs of requests, and to pass it on to online profiling", (_OURS, _GRAPHS, ("create", "delete"))),
        *_everywhere("profiling", ("batch", "jobs", (*READ, "create", "delete"))),
        *_everywhere("to pass it on to online profiling", ("", "pods/log", ("get",))),
        *_everywhere("which GPUs there are; nodes are of no namespace", ("", "nodes", ("list",))),
    ),
    "topology-labels": _everywhere("labels of places; nodes are of no namespace", ("", "pods", ("patch",)), ("", "nodes", ("get",))),
    "mpi-keys": (
        Grant("reconciler", EVERYWHERE, "", "secrets", "mpi-run-ssh-secret", ("get",), "keys that all graphs share"),
        *_everywhere("keys, which are never changed", ("", "secrets", ("create",))),
    ),
    "pod-replacement": _everywhere("pods on Grove that have ended, which Grove then makes anew", ("", "pods", ("delete",))),
}

# (account, namespace, group, resource, name, verbs): what must be refused. The first lines are why the accounts are separate.
DENIED: Final[tuple[tuple[str, str, str, str, str, tuple[str, ...]], ...]] = (
    ("server", HOME, "", "secrets", f"{SERVING}-ca", ("get", "list", "watch", "update", "patch", "delete")),
    ("server", HOME, "", "secrets", "", ("list", "watch", "create")),
    ("server", HOME, "", "secrets", SERVING, ("update", "patch", "delete")),
    ("server", HOME, "", "configmaps", "", ("list", "create")),
    ("server", "default", "", "secrets", SERVING, ("get",)),
    ("server", "default", "nvidia.com", "dynamographdeployments", "", (*READ, "create", "patch")),
    ("server", "default", "coordination.k8s.io", "leases", SCOPE, ("get", "create", "update", "patch", "delete")),
    ("server", "default", "coordination.k8s.io", "leases", "", READ),
    ("server", "", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "dynamo-webhooks-validating", (*READ, "patch")),
    ("provisioner", HOME, "", "secrets", "", (*READ, "update", "patch", "delete")),
    ("provisioner", "default", "", "secrets", f"{SERVING}-ca", ("get", "create")),
    ("provisioner", HOME, "", "configmaps", "dynamo-webhooks-config", ("get", "patch")),
    ("provisioner", HOME, "apps", "deployments", "dynamo-webhooks-server", ("list", "watch", "update", "patch", "delete")),
    ("provisioner", HOME, "apps", "deployments", "dynamo-webhooks-reconciler", ("get",)),
    ("provisioner", "", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", (*READ, "create", "patch", "delete")),
    ("provisioner", "", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "somebody-else", ("get", "patch")),
    ("provisioner", "", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "dynamo-webhooks-mutating", ("update", "delete")),
    ("provisioner", "", "apiextensions.k8s.io", "customresourcedefinitions", "dynamomodels.nvidia.com", ("get", "patch")),
    ("provisioner", "", "apiextensions.k8s.io", "customresourcedefinitions", "dynamographdeployments.nvidia.com", ("update", "delete")),
    ("provisioner", "default", "nvidia.com", "dynamographdeployments", "", READ),
    ("reconciler", HOME, "", "secrets", SERVING, ("get",)),
    ("reconciler", HOME, "", "secrets", f"{SERVING}-ca", ("get",)),
    ("reconciler", "default", "", "secrets", "", (*READ, "create", "update", "patch", "delete")),
    ("reconciler", "default", "", "pods", "", ("create", "patch", "delete")),
    ("reconciler", "default", "nvidia.com", "dynamographdeployments", "", ("create", "delete")),
    ("reconciler", "default", "rbac.authorization.k8s.io", "roles", "", ("escalate", "bind")),
    ("reconciler", "", "rbac.authorization.k8s.io", "clusterroles", "cluster-admin", ("get", "bind")),
    ("reconciler", "", "rbac.authorization.k8s.io", "clusterrolebindings", "", (*READ, "create", "patch")),
    ("reconciler", "", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "dynamo-webhooks-validating", ("get", "patch")),
    ("reconciler", "default", "", "persistentvolumeclaims", "", ("delete",)),
    ("reconciler", "default", "", "configmaps", "", ("update",)),
    *((each.account, "", each.group, each.resource, each.name, each.verbs) for each in PROTECTED),
)
