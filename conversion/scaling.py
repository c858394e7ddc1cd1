"""DynamoGraphDeploymentScalingAdapter: the declaration of its spec and status."""

from __future__ import annotations

from typing import Final

from dynamo_webhooks.conversion.coverage import covered
from dynamo_webhooks.conversion.kind import Kind, remainders
from dynamo_webhooks.conversion.lens.simple import Rename, same
from dynamo_webhooks.conversion.lens.struct import Struct

NAME: Final = "DynamoGraphDeploymentScalingAdapter"

TARGET: Final = Struct(*same("name"), Rename("serviceName", "componentName"))
SPEC: Final = Struct(*same("replicas"), Rename("dgdRef", "dgdRef", TARGET))
STATUS: Final = Struct(*same("replicas", "selector", "lastScaleTime"))

covered(SPEC, NAME, "spec", "spec")
covered(TARGET, NAME, "spec.dgdRef", "spec.dgdRef")
covered(STATUS, NAME, "status", "status")

SCALING: Final = Kind(NAME, *remainders("dgdsa"), SPEC, STATUS)
