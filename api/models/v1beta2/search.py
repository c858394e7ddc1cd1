"""DynamoGraphDeploymentRun and DynamoGraphDeploymentCandidate: what the operator and its search jobs write; all members are kept."""

from pydantic import Field

from ..base import Part
from ..constraints import SPEC_IMMUTABLE, validations
from ..facets import FreeForm, Int32, Time
from ..kubernetes import ConditionsByType
from .request import RunReference, preserve_unknown


class RunStatus(Part, json_schema_extra=preserve_unknown()):
    """Progress of a run."""

    phase: str | None = Field(None, description="Pending, Running, Succeeded or Failed.")
    job_ref: RunReference | None = Field(None, description="The search job.")
    start_time: Time | None = Field(None, description="When the job started.")
    completion_time: Time | None = Field(None, description="When the job ended.")
    last_progress_time: Time | None = Field(None, description="When the job last reported.")
    provenance: FreeForm | None = Field(None, description="Versions of what searched.")
    progress: FreeForm | None = Field(None, description="What has been evaluated so far.")
    candidate_refs: list[RunReference] | None = Field(None, description="Candidates that were found.")
    conditions: ConditionsByType | None = None


class DynamoGraphDeploymentRun(Part, json_schema_extra=validations(SPEC_IMMUTABLE)):
    """One search for a request of v1beta2, made by the operator."""

    spec: FreeForm | None = Field(None, description="The spec of the request when the run was made.")
    status: RunStatus | None = Field(None, description="How far the run has come; written by the search job.")


class CandidateStatus(Part, json_schema_extra=preserve_unknown()):
    """Quality of a candidate."""

    rank: Int32 | None = Field(None, description="Place among the candidates, from 1.")
    metrics: FreeForm | None = Field(None, description="Measured values.")
    conditions: ConditionsByType | None = None


class DynamoGraphDeploymentCandidate(Part, json_schema_extra=validations(SPEC_IMMUTABLE)):
    """One graph that a run found. To deploy it, write its spec into a DynamoGraphDeployment."""

    spec: FreeForm | None = Field(None, description="A spec of DynamoGraphDeployment v1beta1.")
    status: CandidateStatus | None = Field(None, description="How good the candidate is; written by the search job.")
