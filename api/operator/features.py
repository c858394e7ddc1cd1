"""Sections of the file about what the cluster offers: orchestrators, devices, checkpoints, discovery, gates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dynamo_webhooks.api.operator.section import Section
from dynamo_webhooks.api.operator.values import Automatic, Name, Switch, Text, TrimmedName, one_of, span_of


class Grove(Section):
    """The Grove orchestrator."""

    enabled: Automatic = Field(default=None, description="run graphs as Grove PodCliqueSets")
    termination_delay: Annotated[float, span_of(0)] = Field(default=900.0, description="termination delay of PodCliqueSets; 0: the default")


class Lws(Section):
    """LeaderWorkerSet together with Volcano."""

    enabled: Automatic = Field(default=None, description="run multinode components as LeaderWorkerSets; if absent, only with Volcano")


class KaiScheduler(Section):
    """The KAI scheduler."""

    enabled: Automatic = Field(default=None, description="label pods with their KAI queue")


class VolcanoScheduler(Section):
    """The Volcano scheduler on its own, of Go operators since 1.5."""

    enabled: Automatic = Field(default=None, description="no effect: Volcano is used with LeaderWorkerSet alone")


class Orchestrators(Section):
    """Orchestrators of multinode components."""

    grove: Grove = Grove()
    lws: Lws = Lws()
    kai_scheduler: KaiScheduler = KaiScheduler()
    volcano_scheduler: VolcanoScheduler = VolcanoScheduler()


class Dra(Section):
    """Dynamic resource allocation."""

    enabled: Automatic = Field(default=None, description="use `resource.k8s.io/v1` for shared GPU memory and inter-pod failover")


class Gpu(Section):
    """GPUs of the cluster."""

    discovery_enabled: Switch = Field(default=True, description="discover GPUs of nodes for deployment requests without hardware")
    metrics_endpoint_template: Text = Field(default="http://{POD_IP}:9400/metrics", description="URL of a node's GPU metrics")


class FeatureGates(Section):
    """Gates that lift admission rules."""

    gms_snapshot: Switch = Field(default=False, description="allow the GPU memory service together with snapshots")


class Seccomp(Section):
    """The seccomp profile of checkpointed pods."""

    disabled: Switch = Field(default=False, description="inject no seccomp profile")
    profile: Text = Field(default="profiles/block-iouring.json", description="localhost profile to inject")


class Pvc(Section):
    """A claim that keeps checkpoints."""

    pvc_name: TrimmedName = Field(default="", description="name of the claim; surrounding blanks are ignored")
    base_path: Text = Field(default="", description="mount path of the claim")
    create: Switch = Field(default=False, description="create the claim if it is missing")
    size: Text = Field(default="", description="size of a created claim")
    storage_class_name: Name = Field(default="", description="storage class of a created claim")
    access_mode: Text = Field(default="", description="access mode of a created claim")


class Bucket(Section):
    """Storage of early Go operators."""

    uri: Text = Field(default="", description="no effect: only claims hold checkpoints")
    credentials_secret_ref: Text = Field(default="", description="no effect: only claims hold checkpoints")


class Storage(Section):
    """Where checkpoints are kept."""

    type: Text = Field(default="", description="only `pvc` works")
    pvc: Pvc = Pvc()
    s3: Bucket = Bucket()
    oci: Bucket = Bucket()


class Checkpoint(Section):
    """Snapshots of workers."""

    enabled: Switch = Field(default=False, description="restore workers from snapshots")
    on_ready: Annotated[str, one_of("wait", "roll")] = Field(
        default="wait",
        description="`wait`: running workers are replaced by restored ones with the next change of their pods; `roll`: at once",
    )
    fallback: Switch = Field(default=True, description="workers start cold when several could not be restored from a snapshot")
    cleanup_image: Text = Field(default="", description="no effect: nothing is cleaned up by a job")
    seccomp: Seccomp = Seccomp()
    storage: Storage = Storage()


class Discovery(Section):
    """How components find each other."""

    backend: Annotated[str, one_of("kubernetes", "etcd")] = Field(default="kubernetes", description="where components register themselves")


class Security(Section):
    """Protocol switches."""

    enable_http2: Switch = Field(default=False, alias="enableHTTP2", description="no effect: this server uses HTTP/1.1")
