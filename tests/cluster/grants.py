"""What each service account may do, and what for: the one table that the manifests' roles are held against.

A grant that is not here fails, and so does one that is missing from the roles. `USED` grows with the tests that work with nothing but these
roles; what isn't in it yet is proved by access reviews alone.
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


def _server() -> list[Grant]:
    return [
        Grant("server", HOME, "", "secrets", SERVING, READ, "the pair that it serves with"),
        Grant("server", HOME, "", "configmaps", f"{SERVING}-trust", READ, "which issuers may be served"),
        Grant("server", EVERYWHERE, "coordination.k8s.io", "leases", SCOPE, ("list", "watch"), "namespaces of other operators"),
        Grant("server", EVERYWHERE, "grove.io", "clustertopologies", "", ("list", "watch"), "topology profiles that graphs name"),
        Grant("server", EVERYWHERE, "grove.io", "clustertopologybindings", "", ("list", "watch"), "the same since line 1.5"),
    ]


def _provisioner() -> list[Grant]:
    write = (*READ, "update", "patch", "delete")
    lock = ("get", "update", "patch")
    admission, crds = "admissionregistration.k8s.io", "customresourcedefinitions"
    inject = (*READ, "patch")
    converting = (
        "dynamocomponentdeployments",
        "dynamographdeploymentrequests",
        "dynamographdeployments",
        "dynamographdeploymentscalingadapters",
    )
    return [
        Grant("provisioner", HOME, "", "secrets", SERVING, write, "certificates for the server"),
        Grant("provisioner", HOME, "", "secrets", f"{SERVING}-ca", write, "the authority"),
        Grant("provisioner", HOME, "", "secrets", "", ("create",), "both, at the first start"),
        Grant("provisioner", HOME, "", "configmaps", f"{SERVING}-trust", (*lock, "delete"), "which issuers may be served"),
        Grant("provisioner", HOME, "", "configmaps", "", ("create",), "the same, at the first start"),
        Grant("provisioner", HOME, "coordination.k8s.io", "leases", f"{SERVING}-provisioner", lock, "one writer"),
        Grant("provisioner", HOME, "coordination.k8s.io", "leases", "", ("create",), "the same, at the first start"),
        Grant("provisioner", HOME, "discovery.k8s.io", "endpointslices", "", READ, "servers to ask for what they present"),
        Grant("provisioner", HOME, "", "events", "", ("create", "patch"), "what happened"),
        Grant("provisioner", HOME, "apps", "deployments", "dynamo-webhooks-server", ("get",), "whose uid Events name"),
        Grant("provisioner", EVERYWHERE, admission, "validatingwebhookconfigurations", "dynamo-webhooks-validating", inject, "trust"),
        Grant("provisioner", EVERYWHERE, admission, "mutatingwebhookconfigurations", "dynamo-webhooks-mutating", inject, "trust"),
        *(Grant("provisioner", EVERYWHERE, "apiextensions.k8s.io", crds, f"{each}.nvidia.com", inject, "trust") for each in converting),
    ]


def _reconciler() -> list[Grant]:
    own = (*READ, "create", "patch", "delete")
    graphs, components, adapters = "dynamographdeployments", "dynamocomponentdeployments", "dynamographdeploymentscalingadapters"
    children = (("apps", "deployments"), ("", "services"), ("", "serviceaccounts"), ("networking.k8s.io", "ingresses"))
    rbac = "rbac.authorization.k8s.io"
    discovery = (("", "endpoints", READ), ("", "pods", READ), ("discovery.k8s.io", "endpointslices", READ))
    return [
        Grant("reconciler", HOME, "coordination.k8s.io", "leases", "dynamo-webhooks-reconciler", ("get", "update", "patch"), "one leader"),
        Grant("reconciler", HOME, "coordination.k8s.io", "leases", "", ("create",), "the same, at the first start"),
        Grant("reconciler", EVERYWHERE, "coordination.k8s.io", "leases", SCOPE, READ, "namespaces of other operators"),
        Grant("reconciler", EVERYWHERE, "nvidia.com", graphs, "", (*READ, "patch"), "graphs, and their finalizer"),
        Grant("reconciler", EVERYWHERE, "nvidia.com", components, "", own, "components of graphs"),
        Grant("reconciler", EVERYWHERE, "nvidia.com", adapters, "", own, "adapters of components"),
        *(
            Grant("reconciler", EVERYWHERE, "nvidia.com", f"{each}/{part}", "", (verb,), purpose)
            for each in (graphs, components, adapters)
            for part, verb, purpose in (("status", "patch", "how it is"), ("finalizers", "update", "owner references that block deletion"))
        ),
        *(
            Grant("reconciler", EVERYWHERE, "nvidia.com", f"{each}{part}", "", verbs, "what nobody acts on says so")
            for each in ("dynamocheckpoints", "dynamographdeploymentrequests", "dynamomodels")
            for part, verbs in (("", ("list", "watch")), ("/status", ("patch",)))
        ),
        *(Grant("reconciler", EVERYWHERE, group, resource, "", own, "workloads") for group, resource in children),
        Grant("reconciler", EVERYWHERE, "resource.k8s.io", "resourceclaimtemplates", "", own, "shared GPU memory"),
        Grant("reconciler", EVERYWHERE, "", "persistentvolumeclaims", "", ("get", "create"), "claims that graphs ask for"),
        Grant("reconciler", EVERYWHERE, "", "configmaps", "", own, "configurations of endpoint pickers"),
        Grant("reconciler", EVERYWHERE, "inference.networking.k8s.io", "inferencepools", "", own, "what gateways send requests to"),
        Grant("reconciler", EVERYWHERE, "", "events", "", ("create", "patch"), "what happened"),
        *(Grant("reconciler", EVERYWHERE, rbac, each, "", own, "discovery of pods by each other") for each in ("roles", "rolebindings")),
        Grant("reconciler", EVERYWHERE, rbac, "clusterroles", "dynamo-webhooks-planner", ("get", "bind"), "planners"),
        Grant("reconciler", EVERYWHERE, rbac, "clusterroles", "dynamo-webhooks-epp", ("get", "bind"), "endpoint pickers"),
        *(
            Grant("reconciler", EVERYWHERE, group, each, "", verbs, "to pass it on to pods, and why they wait")
            for group, each, verbs in discovery
        ),
        Grant(
            "reconciler",
            EVERYWHERE,
            "nvidia.com",
            "dynamoworkermetadatas",
            "",
            (*READ, "create", "update", "patch", "delete"),
            "to pass it on",
        ),
    ]


def _protected() -> list[Grant]:
    reviews = (
        ("authentication.k8s.io", "tokenreviews", "whose a token is"),
        ("authorization.k8s.io", "subjectaccessreviews", "what he may"),
    )
    return [
        Grant(account, EVERYWHERE, group, resource, "", ("create",), purpose)
        for account in ("server", "provisioner", "reconciler")
        for group, resource, purpose in reviews
    ]


def _orchestrators() -> list[Grant]:
    own = (*READ, "create", "patch", "delete")
    kinds = (("grove.io", "podcliquesets"), ("leaderworkerset.x-k8s.io", "leaderworkersets"))
    made = ("podcliques", "podcliquescalinggroups")
    return [
        *(Grant("reconciler", EVERYWHERE, group, resource, "", own, "workloads of several nodes") for group, resource in kinds),
        Grant("reconciler", EVERYWHERE, "apps", "statefulsets", "", ("list", "watch"), "workers of LeaderWorkerSets"),
        Grant("reconciler", EVERYWHERE, "grove.io", "clustertopologybindings", "", ("get",), "topologies that graphs name"),
        Grant("reconciler", EVERYWHERE, "scheduler.grove.io", "podgangs", "", ("list", "watch"), "how well pods on Grove are placed"),
        Grant("reconciler", EVERYWHERE, "scheduling.run.ai", "queues", "", ("get",), "the queue of pods that the KAI scheduler places"),
        Grant("reconciler", EVERYWHERE, "resource.k8s.io", "deviceclasses", "", ("get",), "which claims of pods are claims of GPUs"),
        *(Grant("reconciler", EVERYWHERE, "grove.io", resource, "", READ, "what runs of a graph on Grove") for resource in made),
        *(Grant("reconciler", EVERYWHERE, "grove.io", f"{resource}/scale", "", ("patch",), "replicas on Grove") for resource in made),
    ]


def _models() -> list[Grant]:
    return [Grant("reconciler", EVERYWHERE, "nvidia.com", "dynamomodels", "", ("get", "patch"), "adapters of models on worker pods")]


def _checkpoints() -> list[Grant]:
    purpose = "snapshots of warm workers"
    rules = (
        ("nvidia.com", "dynamocheckpoints", ("get", "create", "patch")),
        ("nvidia.com", "dynamocheckpoints/finalizers", ("update",)),
        ("batch", "jobs", (*READ, "create", "patch", "delete")),
        ("coordination.k8s.io", "leases", ("get",)),
        ("apps", "daemonsets", ("list",)),
        ("nvidia.com", "podsnapshots", ("get",)),
        ("", "pods", ("delete",)),
    )
    return [
        Grant("server", EVERYWHERE, "nvidia.com", "dynamocheckpoints", "", ("list", "watch"), "what new pods are restored from"),
        *(Grant("reconciler", EVERYWHERE, group, resource, "", verbs, purpose) for group, resource, verbs in rules),
    ]


def _topology_labels() -> list[Grant]:
    return [
        Grant("reconciler", EVERYWHERE, "", "pods", "", ("patch",), "the label of their place"),
        Grant("reconciler", EVERYWHERE, "", "nodes", "", ("get",), "where they are"),
    ]


def _mpi_keys() -> list[Grant]:
    shared = "mpi-run-ssh-secret"
    return [
        Grant("reconciler", EVERYWHERE, "", "secrets", shared, ("get",), "keys that all graphs share"),
        Grant("reconciler", EVERYWHERE, "", "secrets", "", ("create",), "keys, which are never changed"),
    ]


def _requests() -> list[Grant]:
    requests, graphs = "dynamographdeploymentrequests", "dynamographdeployments"
    rules = (
        ("nvidia.com", requests, ("get", "patch"), "requests, and their notes"),
        ("nvidia.com", f"{requests}/finalizers", ("update",), "owner references that block deletion"),
        ("nvidia.com", graphs, ("create", "delete"), "graphs of requests, and to pass it on to online profiling"),
        ("batch", "jobs", (*READ, "create", "delete"), "profiling"),
        ("", "pods/log", ("get",), "to pass it on to online profiling"),
        ("", "nodes", ("list",), "which GPUs there are"),
    )
    return [Grant("reconciler", EVERYWHERE, group, resource, "", verbs, purpose) for group, resource, verbs, purpose in rules]


def _pod_replacement() -> list[Grant]:
    return [Grant("reconciler", EVERYWHERE, "", "pods", "", ("delete",), "pods on Grove that have ended, which Grove then makes anew")]


def _migrate() -> list[Grant]:
    kinds = (
        "dynamocomponentdeployments",
        "dynamographdeploymentrequests",
        "dynamographdeployments",
        "dynamographdeploymentscalingadapters",
    )
    crds = "customresourcedefinitions"
    return [
        *(Grant("migrate", EVERYWHERE, "nvidia.com", each, "", ("get", "list"), "which objects there are") for each in kinds),
        *(Grant("migrate", EVERYWHERE, "nvidia.com", f"{each}/status", "", ("patch",), "storing each again") for each in kinds),
        *(
            Grant("migrate", EVERYWHERE, "apiextensions.k8s.io", resource, f"{each}.nvidia.com", verbs, "which version is stored")
            for each in kinds
            for resource, verbs in ((crds, ("get", "patch")), (f"{crds}/status", ("patch",)))
        ),
        Grant("migrate", "default", "discovery.k8s.io", "endpointslices", "", ("list",), "which API servers there are"),
    ]


GRANTS: Final = (*_server(), *_provisioner(), *_reconciler())
MIGRATE: Final = tuple(_migrate())  # of the Job alone, which is no part of an installation
PROTECTED: Final = tuple(_protected())  # beside those, where metrics are protected
ORCHESTRATORS: Final = tuple(_orchestrators())  # beside those, where graphs may run on Grove or LeaderWorkerSet
CHECKPOINTS: Final = tuple(_checkpoints())  # beside those, where DynamoCheckpoints are reconciled
TOPOLOGY_LABELS: Final = tuple(_topology_labels())  # beside those, where pods learn the place of their node, which is of no namespace
MPI_KEYS: Final = tuple(_mpi_keys())  # beside those, where TensorRT-LLM spans several nodes
MODELS: Final = tuple(_models())  # beside those, where DynamoModels are reconciled
POD_REPLACEMENT: Final = tuple(_pod_replacement())  # beside those, where pods on Grove that have ended are replaced
REQUESTS: Final = tuple(_requests())  # beside those, where DynamoGraphDeploymentRequests are; nodes are of no namespace

# test -> (account, resource, name, verbs) that it calls in the account's name; no name means any
USED: Final[dict[str, tuple[tuple[str, str, str, tuple[str, ...]], ...]]] = {
    "test_the_server_lists_and_watches_its_secret_by_a_field_selector_and_sees_no_other": (
        ("server", "secrets", SERVING, ("list", "watch")),
    ),
    "test_the_server_sees_the_marks_of_other_operators_in_every_namespace": (("server", "leases", SCOPE, ("list",)),),
    "test_the_provisioner_publishes_trust_to_its_objects_alone": (
        ("provisioner", "validatingwebhookconfigurations", "dynamo-webhooks-validating", ("get", "patch")),
        ("provisioner", "mutatingwebhookconfigurations", "dynamo-webhooks-mutating", ("get", "patch")),
        ("provisioner", "customresourcedefinitions", "dynamographdeployments.nvidia.com", ("get", "patch")),
    ),
    "test_the_provisioner_makes_and_rewrites_its_secrets": (
        ("provisioner", "secrets", SERVING, ("get", "update")),
        ("provisioner", "secrets", "", ("create",)),
    ),
    "test_spoiled_bundles_are_whole_within_seconds": (
        ("provisioner", "deployments", "dynamo-webhooks-server", ("get",)),
        ("provisioner", "events", "", ("create",)),
    ),
    "test_the_reconciler_passes_on_what_pods_need_to_find_each_other_and_no_more": (
        ("reconciler", "roles", "", ("create", "patch")),
        ("reconciler", "endpoints", "", READ),
        ("reconciler", "pods", "", READ),
        ("reconciler", "endpointslices", "", READ),
        ("reconciler", "dynamoworkermetadatas", "", (*READ, "create", "update", "patch", "delete")),
    ),
    "test_the_reconciler_binds_the_roles_of_planners_and_pickers_and_no_other": (
        ("reconciler", "rolebindings", "", ("create",)),
        ("reconciler", "clusterroles", "dynamo-webhooks-planner", ("bind",)),
        ("reconciler", "clusterroles", "dynamo-webhooks-epp", ("bind",)),
    ),
    "test_the_reconciler_makes_what_an_endpoint_picker_needs": (
        ("reconciler", "configmaps", "", ("get", "list", "create", "patch", "delete")),
    ),
    "test_a_disaggregated_graph_runs_says_so_and_is_collected": (
        ("reconciler", "leases", "dynamo-webhooks-reconciler", ("get", "update")),
        ("reconciler", "leases", "", ("create",)),
        ("reconciler", "dynamographdeployments", "", ("list", "watch")),
        ("reconciler", "dynamographdeployments/status", "", ("patch",)),
        ("reconciler", "dynamocomponentdeployments", "", ("list", "watch", "create", "patch")),
        ("reconciler", "dynamocomponentdeployments/status", "", ("patch",)),
        ("reconciler", "dynamographdeploymentscalingadapters", "", ("list", "watch")),
        ("reconciler", "deployments", "", (*READ, "create", "patch")),
        ("reconciler", "services", "", (*READ, "create", "patch")),
        ("reconciler", "serviceaccounts", "", (*READ, "create", "patch")),
        ("reconciler", "ingresses", "", ("list", "watch")),
        ("reconciler", "resourceclaimtemplates", "", (*READ, "create", "patch")),
        ("reconciler", "roles", "", READ),
        ("reconciler", "rolebindings", "", (*READ, "patch")),
        ("reconciler", "events", "", ("create",)),
    ),
    "test_a_new_generation_comes_up_before_the_old_goes_even_if_the_reconciler_is_killed_meanwhile": (
        ("reconciler", "dynamocomponentdeployments", "", ("delete",)),
    ),
    "test_scaling_goes_from_the_adapter_to_the_pods": (
        ("reconciler", "dynamographdeployments", "", ("patch",)),
        ("reconciler", "dynamographdeploymentscalingadapters", "", ("create", "patch")),
        ("reconciler", "dynamographdeploymentscalingadapters/status", "", ("patch",)),
    ),
    "test_a_claimed_namespace_is_left_alone_until_it_is_released": (("reconciler", "leases", SCOPE, ("list", "watch")),),
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
    *((each.account, "", each.group, each.resource, each.name, each.verbs) for each in _protected()),
)
