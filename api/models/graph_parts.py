"""Parts of a graph that read the same in both versions: restarts, routing of KV transfers, progress of rolling updates."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from dynamo_webhooks.api.models.constraints import KVT, KVT_PREFIX_LENGTH, validations
from dynamo_webhooks.api.models.facets import LABEL_KEY_PATTERN, Domain, Facets, Filled, Float32, Part, Time

BackendFramework: TypeAlias = Literal["sglang", "vllm", "trtllm"]
GraphState: TypeAlias = Literal["initializing", "pending", "successful", "failed"]
ResourceKind: TypeAlias = Literal["PodClique", "PodCliqueScalingGroup", "Deployment", "LeaderWorkerSet"]


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

    model_config = ConfigDict(json_schema_extra=validations(*KVT))

    label_key: (
        Annotated[str, Field(pattern=LABEL_KEY_PATTERN, min_length=1, max_length=317), Facets(validations(KVT_PREFIX_LENGTH))] | None
    ) = Field(None, description="Node label whose value tells the domain that a worker is in.")
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
    ready: bool | None = Field(None, description="Whether it can be restored from.")


class RollingUpdateProgress(Part):
    """How far a rolling update run by the operator has come."""

    phase: Literal["Pending", "InProgress", "Completed", "Failed", ""] | None = Field(None, description="Where the update stands.")
    start_time: Time | None = Field(None, description="When it began.")
    end_time: Time | None = Field(None, description="When it ended.")
