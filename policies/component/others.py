"""Rules of components whose theme is a field or two, of those on several nodes, and of those outside a graph."""

from typing import Final

from ...api.quantity import parse
from ..at import At
from ..domain import (
    LPX,
    WORKERS,
    check_unchanged,
    component_off_grove,
    explain_workers_only,
    interpod_failover,
    interpod_gms,
    is_line_1_6,
    is_multinode,
    node_count,
    quote_once,
    read_now_and_before,
)
from ..engines import list_sidecars, list_templates
from ..review import UPDATE, Fields
from ..rule import COMPONENT, DCD, DGD, Hits, Stage, differs, rule
from ..words import Words, format_words


@differs(("G-10",), "only vLLM has a default directory; for other engines the operator fails later", lacking=True)
@rule("DYN211", where=COMPONENT, when="compilationCache", stage=Stage.COMPONENT)
def compilation_cache_mount_required(at: At) -> Hits:
    """`compilationCache.mountPath` is missing, and this engine has no default.

    Why
        For vLLM, the cache has a default path. For any other engine, the operator doesn't know where to mount the claim, and fails. Only
        the first flagged mount is the cache.

    Fix
        Set `{mountPoint}` to the directory in which the engine stores compiled kernels.

    Example
        spec:
          backendFramework: sglang
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       compilationCache: {pvcName: kernels}  # expect
    ok    components: [{name: worker, type: worker, compilationCache: {pvcName: kernels, mountPath: /root/.cache/sglang}}]

    ok  spec: {backendFramework: vllm, components: [{name: worker, type: worker, compilationCache: {pvcName: kernels}}]}
    """
    backend = at.review.spec.get("backendFramework")
    if backend in (None, "", "vllm"):
        return
    if not at.value["compilationCache"].get("mountPath"):
        text = f'must name the directory of the compilation cache for backendFramework "{quote_once(backend)}", got nothing'
        yield at.required("compilationCache.mountPath", text)


@differs(("Q-09",), "a standalone component has the same child objects as one of a graph")
@rule("DYN702", where=COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_node_layout_immutable(at: At) -> Hits:
    """A component changes from one node to several, or back.

    Why
        On one node, a replica is a single pod; on several nodes, it is a group of pods with a leader. These are different child objects,
        which can't be converted. Before operator 1.6, the number of nodes of a multi-node component may change. Since operator 1.6, only
        workers span several nodes, and an existing component of another type may drop `multinode`, unless its type changes, too.

    Fix
        Restore the old layout, or create another graph with the new one; a standalone component can be created under another name.

    Example
    bad spec: {components: [{name: worker}]}
    bad --- # becomes
    bad spec:
    bad   components:
    bad     - {name: worker, multinode: {nodeCount: 2}}  # expect

    bad # kind: DynamoComponentDeployment/v1beta1
    bad spec: {multinode: {nodeCount: 2}}
    ok  spec: {components: [{name: worker, multinode: {nodeCount: 2}}]}
        --- # becomes
    bad spec: {replicas: 2}  # expect
    ok  spec: {components: [{name: worker, multinode: {nodeCount: 4}}]}
    """
    if at.old is None or (spread := is_multinode(at.value)) == is_multinode(at.old):
        return
    kind = at.value.get("type")
    if spread or kind in WORKERS or kind != at.was("type") or not is_line_1_6(at.review):
        was, now = ("one node", "several nodes") if spread else ("several nodes", "one node")
        yield at.immutable("multinode", f"must stay on {was}, got {now}")


@rule("DYN219", where=COMPONENT, when="frontendSidecar", stage=Stage.COMPONENT, since="1.4")
def frontend_sidecar_unknown(at: At) -> Hits:
    """`frontendSidecar` names a container that the component's pod doesn't have.

    Why
        The named container is started as the frontend of the worker in the same pod. Without it, the worker has no frontend.

    Fix
        Name a container in `podTemplate.spec.containers`, or remove `frontendSidecar`.

    Example
        {worker}
    bad       frontendSidecar: front  # expect
    ok        frontendSidecar: frontend
              podTemplate:
                spec:
                  containers:
                    - {name: main, image: "example/vllm:1.5.0"}
                    - {name: frontend, image: "example/frontend:1.5.0"}

    bad {worker}
    bad       frontendSidecar: ""  # expect
    bad       podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    """
    name, containers = at.value["frontendSidecar"], at.get("podTemplate.spec.containers") or ()
    templates = list_templates(at.value)
    for index, template in templates if name else ():
        if all((each or {}).get("name") != name for each in (template.get("spec") or {}).get("containers") or ()):
            text = f'must have the frontend sidecar "{quote_once(name)}" in the template of each role, got none'
            yield at.invalid(("roles", index, "podTemplate", "spec", "containers"), None, text)
    if templates and name:
        return
    if not any(container and container.get("name") == name for container in containers) or not name:
        known = ", ".join(f'"{quote_once(container["name"])}"' for container in containers[:_SHOWN] if container and container.get("name"))
        text = f'must name a container of podTemplate.spec.containers ({known or "there is none"}), got "{quote_once(name)}"'
        yield at.invalid("frontendSidecar", name, text)


_SHOWN = 10  # names in the sentence


_IMAGE = "must name the image of the main container, got nothing"


@rule("DYN212", where=COMPONENT, stage=Stage.COMPONENT, since="1.5")
def image_required(at: At) -> Hits:
    """A component's main container has no image.

    Why
        The operator has no default image. The API server would refuse the pods later, where the error is hard to find.

    Fix
        Set {extraPodSpec.mainContainer.image}.

    Example
    bad {worker}
    bad       podTemplate:
    bad         spec:
    bad           containers:
    bad             - {name: main, image: ""}  # expect

        spec:
    bad   components:
    bad     - {name: worker, type: worker}  # expect
    ok    components: [{name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}]
    """
    if at.value.get("type") == LPX or list_templates(at.value):
        return  # each role has a template of its own
    if not (is_line_1_6(at.review) and list_sidecars(at.value)):  # runtime-sidecar-image requires it of every update
        yield from require_main_image(at)


def require_main_image(at: At) -> Hits:
    """Requires a main container with an image."""
    main, place = at.main
    if not main:
        text = 'must have a container "main" with an image, got none'
        yield at.required(place[:-1], Words(_IMAGE, text))
    elif not main.get("image"):
        yield at.required((*place, "image"), _IMAGE)


@rule("DYN214", where=COMPONENT, when="minAvailable", stage=Stage.COMPONENT, needs=("grove",), since="1.4")
def min_available_requires_grove(at: At) -> Hits:
    """A component sets `minAvailable`, but Grove does not run it.

    Why
        Only Grove schedules the first `minAvailable` replicas together. Without Grove, the field has no effect.

    Fix
        Remove `minAvailable`, or run the graph on Grove.

    Example
    bad metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        {worker}
    bad       minAvailable: 1  # expect
    ok        replicas: 4
    ok        minAvailable: 2
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}

    bad # kind: DynamoComponentDeployment/v1beta1
    bad spec:
    bad   minAvailable: 1  # expect
    bad   podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    """
    if reason := component_off_grove(at):
        yield at.forbidden("minAvailable", f"must be unset without Grove, got {at.value['minAvailable']}: {reason}")


# Every node is a child object of its own, or several, and Kubernetes supports clusters of 5,000 nodes: a fifth of the largest cluster for
# one replica is more than any engine has been spread over, and far below the number that exhausts memory.
LIMIT: Final = 1_000


@differs(("Q-05",), "a huge count costs the Go operator seconds and memory; from 2**30 it crashes")
@rule("DYN210", where=COMPONENT, when="multinode", stage=Stage.COMPONENT)
def node_count_limit(at: At) -> Hits:
    """A replica spans far too many nodes.

    Why
        The operator creates children for every node of a replica. A typing error must not keep the operator and the API server busy for
        hours.

    Fix
        Write the number of nodes for one replica of the model, at most 1000.

    Example
    bad {worker}
    bad       multinode:
    bad         nodeCount: 20000000  # expect
    ok  spec: {components: [{name: worker, type: worker, multinode: {nodeCount: 16}}]}
    """
    nodes = node_count(at.value)
    if nodes > LIMIT:
        yield at.invalid("multinode.nodeCount", nodes, f"must be at most {LIMIT}, got {nodes}")


@rule("DYN201", where=COMPONENT, when="replicas<0", stage=Stage.COMPONENT)
def replicas_non_negative(at: At) -> Hits:
    """A component has a negative number of replicas.

    Why
        The API server would refuse the Deployment or PodClique of the component.

    Fix
        Write 0 to stop the component, or the number of replicas that should run.

    Example
    bad {worker}
    bad       replicas: -1  # expect
    ok  spec: {components: [{name: frontend, type: frontend, replicas: 0}]}
    """
    replicas = at.value["replicas"]
    yield at.invalid("replicas", replicas, f"must be 0 or more, got {replicas}")


@differs(("G-06",), "Kubernetes refuses the pod later", lacking=True)
@rule("DYN208", where=COMPONENT, when="sharedMemorySize", stage=Stage.COMPONENT)
def shm_size_negative(at: At) -> Hits:
    """Shared memory has a negative size.

    Why
        Kubernetes refuses a pod with such a volume, so the component would never start. Only the schema of v1alpha1 checks this, not that
        of v1beta1.

    Fix
        Write a positive size, such as 16Gi.

    Example
    bad {worker}
    bad       sharedMemorySize: -1Gi  # expect
    ok  spec: {components: [{name: worker, type: worker, sharedMemorySize: 1Gi}]}
    """
    size = at.value["sharedMemorySize"]
    if parse(size) < 0:
        yield at.invalid("sharedMemorySize", size, f"must be more than zero, got {size}")


@rule("DYN903", where={DGD: "", DCD: ""}, on=(UPDATE,), stage=Stage.ADVICE, ratchets=False)
def warn_backend_framework_change(at: At) -> Hits:
    """An update changes the backend.

    Why
        The change is refused as well. The warning explains the consequences in case you delete the object and create it again.

    Fix
        Check images, commands and engine arguments of every component before you move to another backend.

    Example
    bad # kind: DynamoComponentDeployment/v1beta1
    bad spec: {}
    ok  spec: {backendFramework: vllm}
        --- # becomes
    bad spec:
    bad   backendFramework: vllm  # expect: dcd-backend-immutable, warn-backend-framework-change
    ok  spec: {backendFramework: vllm}
    """
    if read_now_and_before(at, "spec.backendFramework"):
        yield at.warning("spec.backendFramework", "a change of backend is risky: images and commands must fit it")


@rule("DYN710", where={DCD: ""}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dcd_backend_immutable(at: At) -> Hits:
    """The backend of a standalone component changes after creation.

    Why
        Commands, ports, probes and the layout of pods depend on the backend. Running pods can't be changed to another one.

    Fix
        Restore the old value, or create a second component with the new backend and delete this one when the new one serves.

    Example
    bad spec: {backendFramework: vllm}
    ok  spec: {backendFramework: vllm, replicas: 1}
        --- # becomes
    bad spec:
    bad   backendFramework: trtllm  # expect: dcd-backend-immutable, warn-backend-framework-change
    ok  spec: {backendFramework: vllm, replicas: 2}
    """
    yield from check_unchanged(at, "spec.backendFramework", "component")


@differs(("G-12", "Q-09"), "inter-pod layouts are rendered only on Grove, for graphs", lacking=True)
@rule("DYN310", where={DCD: "spec"}, when="experimental", stage=Stage.GMS)
def dcd_interpod_unsupported(at: At) -> Hits:
    """A standalone component has its GPU memory service or standby engines in their own pods.

    Why
        This layout needs several cliques of one Grove set, and only graphs have one. A standalone component can't run this way.

    Fix
        Use mode {intraPod}, or make the component part of a graph on Grove.

    Example
        spec:
          type: worker
          podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad   experimental:
    bad     gpuMemoryService:
    bad       mode: InterPod  # expect
    bad     failover:
    bad       mode: InterPod  # expect
    bad       numShadows: 1
    ok    experimental: {gpuMemoryService: {mode: IntraPod}}
    """
    text = format_words('must not be "{interPod}" for a component outside a graph')
    if interpod_gms(at.value):
        yield at.forbidden("experimental.gpuMemoryService.mode", text)
    if interpod_failover(at.value):
        yield at.forbidden("experimental.failover.mode", text)


@rule("DYN721", where={DCD: "spec"}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.4")
def dcd_topology_immutable(at: At) -> Hits:
    """The topology constraint of a standalone component changes after creation.

    Why
        Pods are placed once; a new constraint would apply only to new replicas.

    Fix
        Restore the old constraint, or create another component with the new one.

    Example
        spec: {topologyConstraint: {packDomain: rack}}
        --- # becomes
        spec:
    bad   topologyConstraint: {packDomain: host}  # expect
    ok    topologyConstraint: {packDomain: rack}
    ok    replicas: 2
          podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    """
    if at.old is None:
        return
    now, before = _domain(at.value), _domain(at.old)
    if now != before:
        shown = [f'"{quote_once(domain)}"' if domain is not None else "unset" for domain in (before, now)]
        yield at.immutable("topologyConstraint", f"must stay with packDomain {shown[0]} after creation, got {shown[1]}")


def _domain(component: Fields) -> str | None:
    constraint = component.get("topologyConstraint")
    return None if constraint is None else str(constraint.get("packDomain") or "")


@rule("DYN238", where=COMPONENT, when="multinode", stage=Stage.COMPONENT, ratchets=False, since="1.6")
def multinode_type_unsupported(at: At) -> Hits:
    """A component that isn't a worker spans several nodes.

    Why
        Only engines can divide their work between nodes. An existing component may keep `multinode` as it is, or drop it.

    Fix
        Remove `multinode`.

    Example
        spec:
          components:
    bad     - name: frontend
    bad       type: frontend
    bad       podTemplate: {spec: {containers: [{name: main, image: "example/frontend:1.6.0"}]}}
    ok      - name: worker
    ok        type: worker
    ok        podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
              multinode: {nodeCount: 2}  # expect
    """
    kind = at.value.get("type")
    if kind in WORKERS or (kind != LPX and at.was("type") == kind and at.was("multinode") == at.value["multinode"]):
        return
    yield at.forbidden("multinode", f"must be unset {explain_workers_only(at.value)}")


@rule("DYN725", where=COMPONENT, on=(UPDATE,), when="multinode", stage=Stage.IMMUTABLE, ratchets=False, since="1.6")
def multinode_count_immutable(at: At) -> Hits:
    """The number of nodes for each replica changes after creation.

    Why
        The pods of a replica start as one group with a fixed number of ranks.

    Fix
        Restore the old number, or create another component with the new one.

    Example
        {worker}
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
              multinode: {nodeCount: 2}
        --- # becomes
        {worker}
    ok        replicas: 2
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
    bad       multinode: {nodeCount: 4}  # expect
    ok        multinode: {nodeCount: 2}
    """
    if at.old is None or at.value.get("type") not in WORKERS or not is_multinode(at.value) or not is_multinode(at.old):
        return  # of other types, multinode-type-unsupported refuses it
    if (now := node_count(at.value)) != (was := node_count(at.old)):
        yield at.immutable("multinode.nodeCount", f"must stay {was} after creation, got {now}", value=now)
