"""DynamoGraphDeploymentScalingAdapter: the declaration of its spec and status."""

from typing import Final

from .kind import Kind, check_coverage, remainder_keys
from .lens.simple import Rename, same
from .lens.struct import Struct

NAME: Final = "DynamoGraphDeploymentScalingAdapter"

TARGET: Final = Struct(*same("name"), Rename("serviceName", "componentName"))
SPEC: Final = Struct(*same("replicas"), Rename("dgdRef", "dgdRef", TARGET))
STATUS: Final = Struct(*same("replicas", "selector", "lastScaleTime"))

check_coverage(SPEC, NAME, "spec", "spec")
check_coverage(TARGET, NAME, "spec.dgdRef", "spec.dgdRef")
check_coverage(STATUS, NAME, "status", "status")

SCALING: Final = Kind(NAME, *remainder_keys("dgdsa"), SPEC, STATUS)
