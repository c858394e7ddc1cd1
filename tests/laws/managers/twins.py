"""Manifests as people write them by hand, in pairs: the same component in v1alpha1 and in v1beta1. Nothing is converted here.

A trait is one thing that an author says of a component, in his own spelling of each version. v1alpha1 is spelled as upstream's examples
spell it: flat fields where there are some, `extraPodSpec.mainContainer` for the rest.
"""

from dataclasses import dataclass
from typing import Any, Final

Object = dict[str, Any]
MAIN: Final = "main"
SIDECAR: Final = "sidecar-frontend"


@dataclass(frozen=True, slots=True)
class Trait:
    """What is said in v1alpha1 of a service, and in v1beta1 of a component, of its main container and of its pod."""

    alpha: Object
    beta: Object | None = None
    main: Object | None = None
    pod: Object | None = None
    metadata: Object | None = None


def _secret(name: str) -> Object:
    return {"envFrom": [{"secretRef": {"name": name}}]}


def _main(**members: Any) -> Trait:
    """Said of the main container alike in both."""
    return Trait({"extraPodSpec": {"mainContainer": members}}, main=members)


def _pod(**members: Any) -> Trait:
    """Said of the pod alike in both."""
    return Trait({"extraPodSpec": members}, pod=members)


def _block(name: str, alpha: Object, beta: Object) -> Trait:
    """A block of v1alpha1 that is switched on, and its form in v1beta1."""
    return Trait({name: {"enabled": True, **alpha}}, {"experimental": {name: beta}})


_PROBE: Final = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10, "failureThreshold": 3}
_LIVE: Final = {"exec": {"command": ["/bin/true"]}, "initialDelaySeconds": 60}
_CLAIM: Final = {"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}}
_ENV: Final = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
_OTHER_ENV: Final = [{"name": "C", "value": "3"}]
_TOLERATION: Final = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_IDENTITY: Final = {"model": "m", "backendFramework": "vllm"}

TRAITS: Final[dict[str, Trait]] = {
    "image": _main(image="runtime:1"),
    "command": _main(command=["python3", "-m", "dynamo.vllm"], args=["--model", "m"], workingDir="/workspace"),
    "replicas": Trait({"replicas": 2}, {"replicas": 2}),
    "secret": Trait({"envFromSecret": "hf-token"}, main=_secret("hf-token")),
    "main env source": _main(envFrom=[{"configMapRef": {"name": "c"}}]),
    "env": Trait({"envs": _ENV}, main={"env": _ENV}),
    "main env": _main(env=_OTHER_ENV),
    "gpu": Trait({"resources": {"limits": {"gpu": "1"}}}, main={"resources": {"limits": {"nvidia.com/gpu": "1"}}}),
    "amounts": Trait(
        {"resources": {"requests": {"cpu": "4", "memory": "16Gi"}}}, main={"resources": {"requests": {"cpu": "4", "memory": "16Gi"}}}
    ),
    "custom": Trait(
        {"resources": {"requests": {"custom": {"ephemeral-storage": "2Gi"}}}},
        main={"resources": {"requests": {"ephemeral-storage": "2Gi"}}},
    ),
    "main amounts": _main(resources={"limits": {"memory": "32Gi"}}),
    "claims": Trait(
        {"resources": {"claims": [{"name": "gpus"}]}, "extraPodSpec": {"resourceClaims": [{"name": "gpus", "resourceClaimName": "g"}]}},
        main={"resources": {"claims": [{"name": "gpus"}]}},
        pod={"resourceClaims": [{"name": "gpus", "resourceClaimName": "g"}]},
    ),
    "ready": Trait({"readinessProbe": _PROBE}, main={"readinessProbe": _PROBE}),
    "live": Trait({"livenessProbe": _LIVE}, main={"livenessProbe": _LIVE}),
    "main probes": _main(startupProbe=_PROBE),
    "mount": Trait(
        {"volumeMounts": [{"name": "cache", "mountPoint": "/cache"}], "extraPodSpec": {"volumes": [_CLAIM]}},
        main={"volumeMounts": [{"name": "cache", "mountPath": "/cache"}]},
        pod={"volumes": [_CLAIM]},
    ),
    "compilation cache": Trait(
        {"volumeMounts": [{"name": "compiled", "mountPoint": "/compiled", "useAsCompilationCache": True}]},
        {"compilationCache": {"pvcName": "compiled", "mountPath": "/compiled"}},
    ),
    "main mount": _main(volumeMounts=[{"name": "models", "mountPath": "/models", "readOnly": True}]),
    "ports": _main(ports=[{"containerPort": 9090, "name": "metrics"}]),
    "security": _main(securityContext={"capabilities": {"add": ["IPC_LOCK"]}}),
    "shared memory": Trait({"sharedMemory": {"size": "16Gi"}}, {"sharedMemorySize": "16Gi"}),
    "tolerations": _pod(tolerations=[_TOLERATION], nodeSelector={"pool": "gpu"}),
    "pull secrets": _pod(imagePullSecrets=[{"name": "ngc"}], serviceAccountName="sa", terminationGracePeriodSeconds=60),
    "sidecar": _pod(containers=[{"name": "proxy", "image": "envoy:1", "args": ["-c", "x"]}]),
    "init": _pod(initContainers=[{"name": "fetch", "image": "fetch:1"}]),
    "pod metadata": Trait(
        {"extraPodMetadata": {"labels": {"team": "a"}, "annotations": {"scrape": "true"}}},
        metadata={"labels": {"team": "a"}, "annotations": {"scrape": "true"}},
    ),
    "frontend sidecar": Trait(
        {"frontendSidecar": {"image": "frontend:1", "args": ["-m", "x"], "envFromSecret": "hf-token", "envs": _OTHER_ENV}},
        {"frontendSidecar": SIDECAR},
        pod={
            "containers": [{"name": SIDECAR, "image": "frontend:1", "args": ["-m", "x"], "env": _OTHER_ENV, **_secret("hf-token")}],
        },
    ),
    "nodes": Trait({"multinode": {"nodeCount": 3}}, {"multinode": {"nodeCount": 3}}),
    "model": Trait({"modelRef": {"name": "m"}}, {"modelRef": {"name": "m"}}),
    "gms": _block("gpuMemoryService", {}, {}),
    "gms with mode": _block("gpuMemoryService", {"mode": "intraPod"}, {"mode": "IntraPod"}),
    "failover": _block("failover", {}, {}),
    "failover with mode": _block("failover", {"mode": "intraPod", "numShadows": 1}, {"mode": "IntraPod", "numShadows": 1}),
    "checkpoint": _block("checkpoint", {"identity": _IDENTITY}, {"identity": _IDENTITY}),
    "named checkpoint": _block("checkpoint", {"mode": "Manual", "checkpointRef": "c"}, {"mode": "Manual", "checkpointRef": "c"}),
    "adapter": Trait({"scalingAdapter": {"enabled": True}}, {"scalingAdapter": {}}),
    "topology": Trait({"topologyConstraint": {"packDomain": "rack"}}, {"topologyConstraint": {"packDomain": "rack"}}),
}
# What v1alpha1 alone can say; a v1beta1 author says nothing in its place.
ALPHA_ONLY: Final[dict[str, Object]] = {
    "labels": {"labels": {"tier": "x"}},
    "annotations": {"annotations": {"note": "x"}},
    "namespace": {"dynamoNamespace": "old"},
    "autoscaling": {"autoscaling": {"enabled": False, "minReplicas": 1, "maxReplicas": 2}},
    "ingress": {"ingress": {"enabled": True, "host": "h"}},
}
# Traits that say something of one field, or of one that v1alpha1 merges as a whole: several managers say them together only by agreement.
TOPICS: Final = (
    {"env", "main env", "frontend sidecar"},
    {"secret", "main env source"},
    {"gpu", "amounts", "custom", "main amounts", "claims"},
    {"mount", "main mount", "compilation cache"},
    {"gms", "gms with mode"},
    {"failover", "failover with mode"},
    {"checkpoint", "named checkpoint"},
)
# Of these a component says one.
EXCLUSIVE: Final = TOPICS[-3:]
TYPES: Final = ("frontend", "worker", "prefill", "decode", "planner")


@dataclass(frozen=True, slots=True)
class Part:
    """A component as its author thinks of it; without a type for a manager that adds something to another's component."""

    name: str
    type: str
    traits: tuple[str, ...]
    alpha_only: tuple[str, ...] = ()

    def alpha(self) -> Object:
        """As a service of v1alpha1, or the spec of a component."""
        roles = {"prefill": ("worker", "prefill"), "decode": ("worker", "decode")}
        kind, role = roles.get(self.type, (self.type, ""))
        spec: Object = {**({"componentType": kind} if kind else {}), **({"subComponentType": role} if role else {})}
        for name in self.traits:
            spec = laid_over(spec, TRAITS[name].alpha)
        for name in self.alpha_only:
            spec = laid_over(spec, ALPHA_ONLY[name])
        return spec

    def beta(self) -> Object:
        """As a component of v1beta1."""
        spec: Object = {"name": self.name, **({"type": self.type} if self.type else {})}
        main: Object = {}
        pod: Object = {}
        metadata: Object = {}
        for trait in (TRAITS[name] for name in self.traits):
            spec = laid_over(spec, trait.beta or {})
            main = laid_over(main, trait.main or {})
            pod = laid_over(pod, trait.pod or {})
            metadata = laid_over(metadata, trait.metadata or {})
        if main:
            pod = {**pod, "containers": [{"name": MAIN, **main}, *pod.get("containers", [])]}
        template = {**({"metadata": metadata} if metadata else {}), **({"spec": pod} if pod else {})}
        return {**spec, "podTemplate": template} if template else spec


def laid_over(base: Object, over: Object) -> Object:
    """Two fragments of a manifest as one: lists one after the other, objects member by member."""
    out = dict(base)
    for name, value in over.items():
        if isinstance(value, dict) and isinstance(out.get(name), dict):
            out[name] = laid_over(out[name], value)
        elif isinstance(value, list) and isinstance(out.get(name), list):
            out[name] = out[name] + value
        else:
            out[name] = value
    return out
