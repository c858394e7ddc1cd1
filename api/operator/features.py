"""Sections of the file about what the cluster offers: orchestrators, devices, checkpoints, discovery, gates."""

from typing import Annotated

from .section import Automatic, Name, Registry, Switch, Text, TrimmedName, key, one_of, section, span_of


@section
class Grove:
    """The Grove orchestrator."""

    enabled: Automatic = key(default=None, text="run graphs as Grove PodCliqueSets")
    termination_delay: Annotated[float, span_of(0)] = key(default=900.0, text="termination delay of PodCliqueSets; 0: the default")


@section
class Lws:
    """LeaderWorkerSet together with Volcano."""

    enabled: Automatic = key(default=None, text="run multinode components as LeaderWorkerSets; if absent, only with Volcano")


@section
class KaiScheduler:
    """The KAI scheduler."""

    enabled: Automatic = key(default=None, text="let KAI place pods on Grove, and label them with their queue")


@section
class VolcanoScheduler:
    """The Volcano scheduler of pods on Grove, of Go operators since 1.5."""

    enabled: Automatic = key(
        default=False, text="let Volcano, which must be installed, place pods on Grove; not together with `kaiScheduler.enabled: true`"
    )


@section
class Orchestrators:
    """Orchestrators of multinode components."""

    grove: Grove = Grove()
    lws: Lws = Lws()
    kai_scheduler: KaiScheduler = KaiScheduler()
    volcano_scheduler: VolcanoScheduler = VolcanoScheduler()


@section
class Dra:
    """Dynamic resource allocation."""

    enabled: Automatic = key(default=None, text="use `resource.k8s.io/v1` for shared GPU memory and inter-pod failover")


@section
class Gpu:
    """GPUs of the cluster."""

    discovery_enabled: Switch = key(default=True, text="discover GPUs of nodes for deployment requests without hardware")
    metrics_endpoint_template: Text = key(default="http://{POD_IP}:9400/metrics", text="URL of a node's GPU metrics")


@section
class FeatureGates:
    """Gates that lift admission rules."""

    gms_snapshot: Switch = key(default=False, text="allow the GPU memory service together with snapshots")


@section
class Seccomp:
    """The seccomp profile of checkpointed pods."""

    disabled: Switch = key(default=False, text="inject no seccomp profile")
    profile: Text = key(default="profiles/block-iouring.json", text="localhost profile to inject")

    @property
    def injected(self) -> str:
        """The profile; empty if disabled."""
        return "" if self.disabled else self.profile


@section
class Pvc:
    """A claim that keeps checkpoints."""

    pvc_name: TrimmedName = key(default="", text="name of the claim; surrounding blanks are ignored")
    base_path: Text = key(default="", text="mount path of the claim")
    create: Switch = key(default=False, text="create the claim if it is missing")
    size: Text = key(default="", text="size of a created claim")
    storage_class_name: Name = key(default="", text="storage class of a created claim")
    access_mode: Text = key(default="", text="access mode of a created claim")


@section
class Bucket:
    """Storage of early Go operators."""

    uri: Text = key(default="", text="no effect: only claims hold checkpoints")
    credentials_secret_ref: Text = key(default="", text="no effect: only claims hold checkpoints")


@section
class Storage:
    """Storage of checkpoints."""

    type: Text = key(default="", text="only `pvc` works")
    pvc: Pvc = Pvc()
    s3: Bucket = Bucket()
    oci: Bucket = Bucket()


@section
class Checkpoint:
    """Snapshots of workers."""

    enabled: Switch = key(default=False, text="restore workers from snapshots")
    on_ready: Annotated[str, one_of("wait", "roll")] = key(
        default="wait",
        text="`wait`: running workers are replaced by restored ones with the next change of their pods; `roll`: at once",
    )
    fallback: Switch = key(default=True, text="workers start cold when several could not be restored from a snapshot")
    cleanup_image: Text = key(default="", text="no effect: nothing is cleaned up by a job")
    seccomp: Seccomp = Seccomp()
    storage: Storage = Storage()

    @property
    def roll(self) -> bool:
        """Whether running workers are replaced by restored ones at once."""
        return self.on_ready == "roll"


@section
class Lpx:
    """Components of type lpx, of Go operators since 1.6."""

    enabled: Switch = key(default=False, text="admit components of type lpx; nothing here runs them")
    model_registry_url: Registry = key(default="", text="no effect: nothing here runs LPX components", name="modelRegistryURL")


@section
class Discovery:
    """Settings by which components find each other."""

    backend: Annotated[str, one_of("kubernetes", "etcd")] = key(default="kubernetes", text="where components register themselves")


@section
class Security:
    """Protocol switches."""

    enable_http2: Switch = key(default=False, text="no effect: this server uses HTTP/1.1", name="enableHTTP2")
