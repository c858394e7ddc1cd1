"""DynamoGraphDeployment and DynamoGraphDeploymentScalingAdapter: the declarations of their spec and status."""

from typing import Final

from .component import lenses
from .kind import Kind, check_coverage, remainder_keys
from .lens.simple import OneSided, Rename, same
from .lens.struct import Struct
from .services import REPLICAS, Entries, Services

NAME: Final = "DynamoGraphDeployment"

SERVICE: Final = Struct(*lenses("providerOverride", "lpx"), OneSided(left=("serviceName",), save_if=bool))
TOPOLOGY: Final = Struct(Rename("topologyProfile", "clusterTopologyName"), *same("packDomain"))
ROLLING: Final = Struct(*same("phase", "startTime", "endTime"), Rename("updatedServices", "updatedComponents"))

SPEC: Final = Struct(
    *same("annotations", "labels", "priorityClassName", "backendFramework", "restart", "providerOverride", "experimental"),
    Rename("envs", "env"),
    Rename("topologyConstraint", "topologyConstraint", TOPOLOGY),
    OneSided(left=("pvcs",), save_if=bool),
    Services("services", "components", SERVICE),
)
STATUS: Final = Struct(
    *same("observedGeneration", "state", "conditions", "restart", "checkpoints", "placement"),
    Rename("rollingUpdate", "rollingUpdate", ROLLING),
    Entries("services", "components", REPLICAS),
)

for _struct, _left, _right in (
    (SPEC, "spec", "spec"),
    (TOPOLOGY, "spec.topologyConstraint", "spec.topologyConstraint"),
    (STATUS, "status", "status"),
    (ROLLING, "status.rollingUpdate", "status.rollingUpdate"),
    (REPLICAS, "status.services.*", "status.components.*"),
):
    check_coverage(_struct, NAME, _left, _right)
check_coverage(SERVICE, NAME, "spec.services.*", "spec.components.*", beside=frozenset({"name"}))

GRAPH: Final = Kind(NAME, *remainder_keys("dgd"), SPEC, STATUS, marked=True)

ADAPTER: Final = "DynamoGraphDeploymentScalingAdapter"

TARGET: Final = Struct(*same("name"), Rename("serviceName", "componentName"))
ADAPTER_SPEC: Final = Struct(*same("replicas"), Rename("dgdRef", "dgdRef", TARGET))
ADAPTER_STATUS: Final = Struct(*same("replicas", "selector", "lastScaleTime"))

for _struct, _place in ((ADAPTER_SPEC, "spec"), (TARGET, "spec.dgdRef"), (ADAPTER_STATUS, "status")):
    check_coverage(_struct, ADAPTER, _place, _place)

SCALING: Final = Kind(ADAPTER, *remainder_keys("dgdsa"), ADAPTER_SPEC, ADAPTER_STATUS)
