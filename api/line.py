"""The lines of the operator's API: which fields, rules and definitions there are."""

import re
from collections.abc import Iterator, Mapping
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
    V1_7 = "1.7"


OLDEST: Final = Line.V1_2
NEWEST: Final = Line.V1_7
DEFAULT_LINE: Final = Line.V1_6  # the newest that is known whole; used if no flag, configuration, fact or definition names another
_NUMBERS: Final = re.compile(r"v?([0-9]{1,19})(?:\.([0-9]{1,19}))?(?![0-9])")
# Fields of v1beta1, of a component or of the graph, that show the line of a definition of graphs: the newest line first. Lines 1.6 and 1.7
# have the same definition of graphs. In line 1.7 the definition of requests has v1beta2, or keeps it in a field if it isn't served.
_COMPONENT: Final = ("spec", "components", "[]")
_REQUESTS: Final = "v1beta2"
_MARKERS: Final[tuple[tuple[Line, tuple[str, ...]], ...]] = (
    (Line.V1_6, (*_COMPONENT, "lpx")),
    (Line.V1_6, (*_COMPONENT, "roles", "[]", "replicas")),
    (Line.V1_5, (*_COMPONENT, "roles")),
    (Line.V1_4, ("status", "placement")),
    (Line.V1_3, (*_COMPONENT, "minAvailable")),
)


# Lines whose rules were not compared one by one, and the line whose rules they get as far as they have its fields: the nearest one.
NEAREST: Final[Mapping[Line, Line]] = {Line.V1_3: Line.V1_2, Line.V1_4: Line.V1_5}


def decide_line(version: str, installed: Line | None = None) -> Line:
    """The line of an operator: of its version if that is a release, else of the installed definitions, else the default."""
    return of_release(version) or installed or DEFAULT_LINE


def is_beyond(version: str) -> bool:
    """Whether a version is of a later line than the newest known, as which it counts."""
    return _numbers(version) > _numbers(NEWEST)


def explain_upgrades(now: Line, to: Line) -> str:
    """Which releases an upgrade has to go through, since each operator after 1.5 only upgrades the one before; empty without any."""
    steps = [line for line in Line if now < line <= to and line >= Line.V1_5]
    return f"upgrade from operator {now} to {', then to '.join(steps)}: no release may be left out" if len(steps) > 1 else ""


@lru_cache(maxsize=64)
def of_release(version: str) -> Line | None:
    """The newest line that is not later than a version, whose prerelease counts as its release; None for a development build."""
    numbers = _numbers(version)
    return next((line for line in reversed(Line) if _numbers(line) <= numbers), OLDEST) if any(numbers) else None


def _numbers(version: str) -> tuple[int, int]:
    """Major and minor; zeros for a version without."""
    match = _NUMBERS.match(version)
    return (0, 0) if match is None else (int(match[1]), int(match[2] or 0))


def of_definitions(graphs: Any, requests: Any) -> Line | None:
    """Returns the line of live definitions of DynamoGraphDeployment and DynamoGraphDeploymentRequest; None if that of graphs shows none.

    A definition of requests that a later release left beside an older definition of graphs doesn't count.
    """
    line = of_definition(graphs)
    return of_definition(requests) or line if line is Line.V1_6 else line


def of_definition(crd: Any) -> Line | None:
    """Returns the line that a live definition shows: for graphs any up to 1.6, for requests only 1.7; None for others. Few look-ups."""
    schemas = {name: schema for name, schema in _schemas(crd) if isinstance(name, str)}
    graphs = schemas.get("v1beta1")
    if isinstance(_below(graphs, _COMPONENT), dict):
        return next((line for line, path in _MARKERS if _below(graphs, path) is not None), OLDEST)
    kept = any(_below(schema, (part, _REQUESTS)) is not None for schema in schemas.values() for part in ("spec", "status"))
    return Line.V1_7 if kept or _REQUESTS in schemas else None


def _schemas(crd: Any) -> Iterator[tuple[Any, Any]]:
    """Name and schema of each version of a definition of any quality."""
    versions = _member(crd, "spec", "versions")
    for each in versions if isinstance(versions, list) else ():
        yield _member(each, "name"), _member(each, "schema", "openAPIV3Schema")


def _below(schema: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        schema = _member(schema, "items") if step == "[]" else _member(schema, "properties", step)
    return schema


def _member(node: Any, *path: str) -> Any:
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return node
