"""Names of annotations that rules read, and the values of some."""

from typing import Final

DISAGGREGATED_OPT_IN: Final = "nvidia.com/enable-disaggregatedset"
GROVE_OPT_OUT: Final = "nvidia.com/enable-grove"
DISCOVERY_BACKEND: Final = "nvidia.com/dynamo-discovery-backend"
DISCOVERY_MODE: Final = "nvidia.com/dynamo-kube-discovery-mode"
VLLM_EXECUTOR: Final = "nvidia.com/vllm-distributed-executor-backend"
ORIGIN_VERSION: Final = "nvidia.com/dynamo-operator-origin-version"
WORKLOAD_PROVIDER: Final = "nvidia.com/workload-provider"
GROVE_UPDATE_STRATEGY: Final = "nvidia.com/grove-update-strategy"
POWER_LIMIT: Final = "dynamo.nvidia.com/gpu-power-limit"
EXECUTORS: Final = ("mp", "ray")
