"""Warns of expressions that don't fit the schema of the kinds that a policy matches, as an API server does in `status.typeChecking`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...api.kinds import GROUP, KINDS
from ...api.line import Line
from ...api.paths import Path
from ...cel.types import DYN, StaticType
from .names import AUTHORIZER, CHECK_NAMES, NAMES, VARIABLES, type_of_variable
from .policy import CHECK, Expression, Policy
from .schema_types import type_of_config_map, type_of_kind


class ExpressionWarning(NamedTuple):
    """A sentence about a place in an expression; line and column count from 1."""

    path: Path
    text: str
    line: int
    column: int


def find_warnings(policy: Policy, line: Line) -> Iterator[ExpressionWarning]:
    """Yields the faults of a policy's expressions by the schemas of an operator release. A cluster accepts the policy nevertheless."""
    for kind, version in _kinds_of(policy):
        try:
            object_type = type_of_kind(kind, version, line)
        except KeyError:  # of a later release
            continue
        for path, expression, names in _typed(policy, object_type, line):
            for fault in expression.program.check(names).faults:
                yield ExpressionWarning(path, f"{kind} {version}: {fault}", fault.line, fault.column)


def _kinds_of(policy: Policy) -> Iterator[tuple[str, str]]:
    """The kinds and versions that the rules name; an API server checks nothing for a star."""
    seen: set[tuple[str, str]] = set()
    for rule in policy.match.rules:
        if "*" in rule.groups or GROUP not in rule.groups or "*" in rule.versions:
            continue
        for kind in KINDS:
            for version in kind.versions if kind.plural in rule.resources else ():
                if version.name in rule.versions and (kind.name, version.name) not in seen:
                    seen.add((kind.name, version.name))
                    yield kind.name, version.name


def _type_of_params(version: str, kind: str, line: Line) -> StaticType:
    """The type of parameters: that of ConfigMaps, or of a Dynamo kind."""
    group, _, name = version.rpartition("/")
    if (version, kind) == ("v1", "ConfigMap"):
        return type_of_config_map()
    try:
        return type_of_kind(kind, name, line) if group == GROUP else DYN
    except KeyError:
        return DYN


def list_names(kind: str, object_type: StaticType, param: tuple[str, str] | None, line: Line) -> dict[str, StaticType]:
    """The names that expressions of a policy or a Check may use, with their types; `object_type` is that of the matched kind."""
    names = {**NAMES, **AUTHORIZER, "object": object_type, "oldObject": object_type, **(CHECK_NAMES if kind == CHECK else {})}
    return {**names, **({"params": _type_of_params(*param, line)} if param is not None else {})}


def _typed(policy: Policy, object_type: StaticType, line: Line) -> Iterator[tuple[Path, Expression, dict[str, StaticType]]]:
    """Each expression with its path and the types of names."""
    names = list_names(policy.kind, object_type, policy.param, line)
    for index, (_, expression) in enumerate(policy.conditions):
        yield ("spec", "matchConditions", index, "expression"), expression, names
    types: dict[str, StaticType] = {}
    names = {**names, VARIABLES: StaticType(VARIABLES, (), types)}
    for index, (name, expression) in enumerate(policy.variables.items()):
        yield ("spec", "variables", index, "expression"), expression, names
        types[name] = type_of_variable(expression.program.check(names).type)
    for index, validation in enumerate(policy.validations):
        yield ("spec", "validations", index, "expression"), validation.expression, names
        if validation.message_expression is not None:
            yield ("spec", "validations", index, "messageExpression"), validation.message_expression, names
