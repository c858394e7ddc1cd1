"""Parts of a graph that read the same in both versions: restarts, routing of KV transfers, progress of rolling updates."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from dynamo_webhooks.api.models.constraints import KVT, KVT_PREFIX_LENGTH, KVT_SINCE_1_5, validations, validations_by_line
from dynamo_webhooks.api.models.facets import LABEL_KEY_PATTERN, SINCE_1_5, Domain, Facets, Filled, Float32, FreeForm, Part, Time

BackendFramework: TypeAlias = Literal["sglang", "vllm", "trtllm"]
GraphState: TypeAlias = Literal["initializing", "pending", "successful", "failed"]
ResourceKind: TypeAlias = Literal["PodClique", "PodCliqueScalingGroup", "Deployment", "LeaderWorkerSet"]


class ProviderOverride(Part):
    """Changes one resource of the workload provider, such as Grove's PodCliqueSet, before it is applied."""

    api_version: Filled = Field(description="Version of the provider's API in which value is written.")
    target: str | None = Field(None, description="Type that value changes; follows from the place when left out.")
    value: FreeForm = Field(description="The part of that type to change.")


class Placement(Part):
    """How well the graph's pods are placed, as its workload provider reports it."""

    state: Literal["Reported", "Partial", "Unsupported", "Unknown"] | None = Field(None, description="Whether there is a score.")
    score: Annotated[float, Field(le=1)] | None = Field(None, description="Score of the placement; 1 is best.")


class RestartStrategy(Part):
    """In what order components restart."""

    type: Literal["Sequential", "Parallel"] = Field("Sequential", description="One after the other, or all at once.")
    order: list[str] | None = Field(None, description="Names in the order in which they restart; used by Sequential.")


class Restart(Part):
    """Asks for a restart of the whole graph."""

    id: Filled = Field(description="Any text; a changed one starts a restart.")
    strategy: RestartStrategy | None = Field(None, description="In what order components restart.")


class RestartStatus(Part):
    """How far the last restart has come."""

    observed_id: str | None = Field(None, alias="observedID", description="The id of the restart that this is about.")
    phase: str | None = Field(None, description="Where the restart stands.")
    in_progress: list[str] | None = Field(None, description="Components that are restarting now.")


class KvTransferPolicy(Part):
    """Keeps transfers of the KV cache between prefill and decode workers inside a topology domain."""

    model_config = ConfigDict(json_schema_extra=validations_by_line(KVT, KVT_SINCE_1_5))

    label_key: (
        Annotated[str, Field(pattern=LABEL_KEY_PATTERN, min_length=1, max_length=317), Facets(validations(KVT_PREFIX_LENGTH))] | None
    ) = Field(None, description="Node label whose value tells the domain that a worker is in.")
    cluster_topology_name: Annotated[Filled, SINCE_1_5] | None = Field(
        None, description="Cluster topology whose level domain tells the domain, in place of a label."
    )
    domain: Domain = Field(description="Level of the topology, such as rack or zone.")
    enforcement: Literal["required", "preferred"] = Field("required", description="Whether leaving the domain is forbidden or just costs.")
    preferred_weight: Annotated[Float32, Field(ge=0, le=1)] | None = Field(
        None, description="How strongly the own domain is preferred, 0 to 1; only with the enforcement preferred."
    )


class GraphExperimental(Part):
    """Features of a whole graph that may still change or go."""

    kv_transfer_policy: KvTransferPolicy | None = Field(None, description="Where KV caches may be transferred to.")


class CheckpointStatus(Part):
    """The checkpoint that one component uses."""

    checkpoint_name: str | None = Field(None, description="Name of the DynamoCheckpoint.")
    identity_hash: str | None = Field(None, description="Hash of what the checkpoint depends on.")
    checkpoint_id: Annotated[str, SINCE_1_5] | None = Field(None, alias="checkpointID", description="Identifier of the checkpoint's data.")
    ready: bool | None = Field(None, description="Whether it can be restored from.")


class RollingUpdateProgress(Part):
    """How far a rolling update run by the operator has come."""

    phase: Literal["Pending", "InProgress", "Completed", "Failed", ""] | None = Field(None, description="Where the update stands.")
    start_time: Time | None = Field(None, description="When it began.")
    end_time: Time | None = Field(None, description="When it ended.")
