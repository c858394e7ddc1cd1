"""DynamoGraphDeployment: the declaration of its spec and status."""

from __future__ import annotations

from typing import Final

from dynamo_webhooks.conversion.component import lenses
from dynamo_webhooks.conversion.coverage import covered
from dynamo_webhooks.conversion.kind import Kind, remainders
from dynamo_webhooks.conversion.lens.simple import LeftOnly, Rename, same
from dynamo_webhooks.conversion.lens.struct import Struct
from dynamo_webhooks.conversion.replicas import REPLICAS
from dynamo_webhooks.conversion.services import Entries, Services

NAME: Final = "DynamoGraphDeployment"

SERVICE: Final = Struct(*lenses("providerOverride"), LeftOnly("serviceName", worth=bool))
TOPOLOGY: Final = Struct(Rename("topologyProfile", "clusterTopologyName"), *same("packDomain"))
ROLLING: Final = Struct(*same("phase", "startTime", "endTime"), Rename("updatedServices", "updatedComponents"))

SPEC: Final = Struct(
    *same("annotations", "labels", "priorityClassName", "backendFramework", "restart", "providerOverride", "experimental"),
    Rename("envs", "env"),
    Rename("topologyConstraint", "topologyConstraint", TOPOLOGY),
    LeftOnly("pvcs", worth=bool),
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
    covered(_struct, NAME, _left, _right)
covered(SERVICE, NAME, "spec.services.*", "spec.components.*", beside=frozenset({"name"}))

GRAPH: Final = Kind(NAME, *remainders("dgd"), SPEC, STATUS, marked=True)
