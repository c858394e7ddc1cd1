"""The lines of the operator's API: which fields, rules and definitions there are."""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final


class Line(StrEnum):
    """One line of the operator; lines compare in their order."""

    V1_2 = "1.2"
    V1_3 = "1.3"
    V1_4 = "1.4"
    V1_5 = "1.5"
    V1_6 = "1.6"


OLDEST: Final = Line.V1_2
NEWEST: Final = Line.V1_6  # also the line where nobody names one: no flag, configuration, fact or definition
_NUMBERS: Final = re.compile(r"v?([0-9]{1,19})(?:\.([0-9]{1,19}))?(?![0-9])")
# By a field that it has in its component of v1beta1, or in the schema of its graphs, a definition tells its line: the newest first.
_COMPONENT: Final = ("spec", "components", "[]")
_MARKERS: Final[tuple[tuple[Line, tuple[str, ...]], ...]] = (
    (Line.V1_6, (*_COMPONENT, "lpx")),
    (Line.V1_6, (*_COMPONENT, "roles", "[]", "replicas")),
    (Line.V1_5, (*_COMPONENT, "roles")),
    (Line.V1_4, ("status", "placement")),
    (Line.V1_3, (*_COMPONENT, "minAvailable")),
)


# Lines whose rules were not compared one by one, and the line whose rules they get as far as they have its fields: the nearest one.
NEAREST: Final[Mapping[Line, Line]] = {Line.V1_3: Line.V1_2, Line.V1_4: Line.V1_5}


def decide_line(version: str, definition: Any = None) -> Line:
    """The line of an operator: by its version if that is a release, else by the installed definition of its graphs, else the newest."""
    return of_release(version) or of_definition(definition) or NEWEST


def is_beyond(version: str) -> bool:
    """Whether a version is of a later line than the newest known, as which it counts."""
    return _numbers(version) > _numbers(NEWEST)


@lru_cache(maxsize=64)
def of_release(version: str) -> Line | None:
    """The newest line that is not later than a version, whose prerelease counts as its release; None for a development build."""
    numbers = _numbers(version)
    return next((line for line in reversed(Line) if _numbers(line) <= numbers), OLDEST) if any(numbers) else None


def _numbers(version: str) -> tuple[int, int]:
    """Major and minor; zeros for a version without."""
    found = _NUMBERS.match(version)
    return (0, 0) if found is None else (int(found[1]), int(found[2] or 0))


def of_definition(crd: Any) -> Line | None:
    """The line of a live CustomResourceDefinition of DynamoGraphDeployment; None if it has no readable v1beta1 schema. Few look-ups."""
    versions = _member(crd, "spec", "versions")
    for version in versions if isinstance(versions, list) else ():
        if _member(version, "name") == "v1beta1":
            schema = _member(version, "schema", "openAPIV3Schema")
            if isinstance(_below(schema, _COMPONENT), dict):
                return next((line for line, path in _MARKERS if _below(schema, path) is not None), OLDEST)
    return None


def _below(schema: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        schema = _member(schema, "items") if step == "[]" else _member(schema, "properties", step)
    return schema


def _member(node: Any, *path: str) -> Any:
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return node
