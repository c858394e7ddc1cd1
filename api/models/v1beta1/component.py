"""One component of a graph, and DynamoComponentDeployment v1beta1: the same on its own."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from dynamo_webhooks.api.models.constraints import EPP_ONE_SOURCE, EPP_TYPE, MIN_AVAILABLE, validations, validations_by_line
from dynamo_webhooks.api.models.endpoint_picker import PickerConfig
from dynamo_webhooks.api.models.facets import COMPONENT_PATTERN, SINCE_1_5, Domain, Filled, Int32, Int64, Part, Quantity, VersionNumbers
from dynamo_webhooks.api.models.graph_parts import BackendFramework, ProviderOverride
from dynamo_webhooks.api.models.kubernetes import ComponentPodTemplate, ConditionsByType, ConfigMapKey
from dynamo_webhooks.api.models.v1beta1.features import Experimental
from dynamo_webhooks.api.models.v1beta1.status import ComponentReplicaStatus

ComponentName: TypeAlias = Annotated[str, Field(pattern=COMPONENT_PATTERN, min_length=1, max_length=63)]


class ModelReference(Part):
    """A model that the component serves."""

    name: Filled = Field(description="Name of the model.")
    revision: str | None = Field(None, description="Revision of the model.")


class Multinode(Part):
    """Spreads each replica over several nodes."""

    node_count: Annotated[Int32, Field(ge=2)] = Field(2, description="Nodes of a replica.")


class NodeRole(Part):
    """What is said of the leader, or of the workers, of a replica over several nodes."""

    provider_override: ProviderOverride | None = Field(None, description="Changes the resource that the workload provider runs them by.")


class GraphMultinode(Multinode):
    """Spreads each replica over several nodes."""

    leader: Annotated[NodeRole, SINCE_1_5] | None = Field(None, description="What is said of the leader.")
    worker: Annotated[NodeRole, SINCE_1_5] | None = Field(None, description="What is said of the workers.")


class ScalingAdapter(Part):
    """Hands the number of replicas to a scaling adapter; has no settings, its presence switches that on."""


class EndpointPicker(Part):
    """Settings of an endpoint picker component."""

    model_config = ConfigDict(json_schema_extra=validations(EPP_ONE_SOURCE))

    config_map_ref: ConfigMapKey | None = Field(None, description="Key of a config map that holds the configuration.")
    config: PickerConfig | None = Field(None, description="The configuration itself, in place of a config map.")


class CompilationCache(Part):
    """A claim in which the engine keeps compiled kernels."""

    pvc_name: Filled = Field(description="Name of the claim.")
    mount_path: str | None = Field(None, description="Directory to mount it at; the engine's usual one when left out.")


class ComponentTopology(Part):
    """Where the pods of the component are packed together."""

    pack_domain: Domain = Field(description="Domain of the graph's topology.")


class ComponentSettings(Part):
    """What a component in a graph and one on its own have in common, but for the name."""

    model_config = ConfigDict(json_schema_extra=validations_by_line((EPP_TYPE,), (EPP_TYPE, *MIN_AVAILABLE)))

    type: Literal["frontend", "worker", "prefill", "decode", "planner", "epp"] | None = Field(
        None, description="Role in the graph, which decides the defaults of its pods."
    )
    global_dynamo_namespace: bool | None = Field(None, description="Puts the component into the namespace that all graphs share.")
    pod_template: ComponentPodTemplate | None = Field(None, description="Template of the pods; the container main runs the component.")
    replicas: Annotated[Int32, Field(ge=0)] | None = Field(None, description="How many replicas run.")
    min_available: Annotated[Int32, Field(ge=1), SINCE_1_5] | None = Field(
        None, description="Replicas below which the component counts as failed."
    )
    runtime_version_override: Annotated[VersionNumbers, SINCE_1_5] | None = Field(
        None, description="Version of Dynamo in an image whose tag does not tell it."
    )
    multinode: Multinode | None = Field(None, description="Spreads each replica over several nodes.")
    shared_memory_size: Quantity | None = Field(None, description="Size of the shared memory volume; zero leaves it out.")
    model_ref: ModelReference | None = Field(None, description="Model that the component serves, for endpoint discovery.")
    scaling_adapter: ScalingAdapter | None = Field(None, description="Hands the number of replicas to a scaling adapter.")
    epp_config: EndpointPicker | None = Field(
        None, description="Settings of an endpoint picker, the component that chooses a worker for each request."
    )
    frontend_sidecar: str | None = Field(None, description="Name of the container that runs a frontend beside the main one.")
    compilation_cache: CompilationCache | None = Field(None, description="A claim for compiled kernels.")
    topology_constraint: ComponentTopology | None = Field(None, description="Where the pods are packed together.")
    experimental: Experimental | None = Field(None, description="Features that may still change or go.")


class Component(ComponentSettings):
    """One component: what runs, how often, and with which extras."""

    name: ComponentName = Field(description="Name of the component, unique in the graph.")
    multinode: GraphMultinode | None = Field(None, description="Spreads each replica over several nodes.")
    provider_override: Annotated[ProviderOverride, SINCE_1_5] | None = Field(
        None, description="Changes the resource that the workload provider runs the component by."
    )


class ComponentSpec(ComponentSettings):
    """What the component should look like."""

    # Recorded answers of the API server accept a component on its own without a name.
    name: ComponentName | None = Field(None, description="Name of the component in its graph.")
    backend_framework: BackendFramework | None = Field(None, description="Inference engine of the component.")


class ComponentStatus(Part):
    """What was seen of the component."""

    observed_generation: Int64 | None = Field(None, description="Generation that this status is about.")
    conditions: ConditionsByType | None = Field(
        None, description="Aspects of the state, one condition each, in the usual form of Kubernetes."
    )
    component: ComponentReplicaStatus | None = Field(None, description="Replicas of the component.")


class DynamoComponentDeployment(Part):
    """One component of a graph as an object of its own, usually made by the operator."""

    spec: ComponentSpec | None = Field(None, description="What the component should look like.")
    status: ComponentStatus | None = Field(None, description="What was seen; written by the operator.")
