"""Names of what belongs to a request. Those without `webhooks.` are the Go operator's, so that either can go on where the other stopped."""

from typing import Final

from ...conversion.lens.protocol import Fields
from ..common.resources import REQUEST_NAME

ACCOUNT: Final = "dgdr-profiling-job"  # begins the names of a request's account, Role and RoleBinding
NAMESPACE: Final = "dgdr.nvidia.com/namespace"
JOB_NAME: Final = "dgdr"  # the request's name on its Job
MANAGED: Final = "nvidia.com/managed-by"
OPERATOR: Final = "dynamo-operator"
SPEC: Final = "nvidia.com/generated-dgd-spec"  # annotation of a request: its graph as YAML until that is created
EXTRA: Final = "dgdr.nvidia.com/additional-resources"  # the same of what the profiler made beside the graph
PROGRESS: Final = "webhooks.nvidia.com/request-progress"  # annotation of a request: this project's own notes
HARDWARE: Final = "webhooks.nvidia.com/discovered-hardware"  # annotation of a request: JSON of the hardware found in the cluster
REQUEST_UID: Final = "webhooks.nvidia.com/request-uid"  # annotation of a graph: the request that it was made for
OURS: Final = "webhooks.nvidia.com/"

PROFILER: Final = "profiler"
COPIER: Final = "output-copier"
RESULT: Final = "final_config.yaml"
STATUS: Final = "profiler_status.yaml"
PARETO: Final = "webui_data.json"
SPEC_KEY: Final = "spec.json"  # of the output ConfigMap, where the spec is too long for an argument


def job_of(request: Fields) -> str:
    """The profiling Job of a request."""
    return f"profile-{request['metadata']['name']}"


def output_of(request: Fields) -> str:
    """The ConfigMap that the result of profiling is written to."""
    return f"dgdr-output-{request['metadata']['name']}"


def account_of(request: str) -> str:
    """The account of a request's profiling Job, and its Role and RoleBinding."""
    return f"{ACCOUNT}-{request}"


def labels_of(request: Fields) -> dict[str, str]:
    """The labels of a graph and a ConfigMap that were made for a request, whose name is short enough (validation.py)."""
    return {REQUEST_NAME: str(request["metadata"]["name"]), NAMESPACE: str(request["metadata"]["namespace"]), MANAGED: OPERATOR}
