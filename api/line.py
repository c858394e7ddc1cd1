"""The lines of the operator's API: which fields, rules and definitions there are. Strictness is another axis, the profile."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final


class Line(StrEnum):
    """One line of the operator; lines compare in their order."""

    V1_2 = "1.2"
    V1_5 = "1.5"


# the line of definitions and of what serves them, where the configuration says no operator.version
INSTALLED: Final = Line.V1_2
# the line where nothing tells which one it is: that of the operator that most clusters run
USUAL: Final = Line.V1_5
_NUMBERS: Final = re.compile(r"v?([0-9]{1,19})(?:\.([0-9]{1,19}))?(?![0-9])")


@lru_cache(maxsize=64)
def of_version(version: str) -> Line:
    """The line of an operator by its version: from 1.5 on 1.5, else 1.2 (1.3 and 1.4 were not compared); USUAL for no version."""
    found = _NUMBERS.match(version)
    if found is None:
        return USUAL
    return Line.V1_5 if (int(found[1]), int(found[2] or 0)) >= (1, 5) else Line.V1_2


def of_definition(crd: Any) -> Line | None:
    """The line of a live CustomResourceDefinition of DynamoGraphDeployment; None if it has no readable v1beta1 schema. Six look-ups."""
    versions = _member(crd, "spec", "versions")
    for version in versions if isinstance(versions, list) else ():
        if _member(version, "name") == "v1beta1":
            path = ("schema", "openAPIV3Schema", "properties", "spec", "properties", "components", "items", "properties")
            fields = _member(version, *path)
            if isinstance(fields, dict):
                return Line.V1_5 if "minAvailable" in fields else Line.V1_2
    return None


def _member(node: Any, *path: str) -> Any:
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return node
