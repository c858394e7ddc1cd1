"""The CEL rules of the definitions as ValidatingAdmissionPolicies, for clusters whose definitions lack them."""

import re
from collections.abc import Iterator
from typing import Any, Final

from ...admission.userrules.policy import POLICY, POLICY_GROUP
from ...api.kinds import BY_NAME, GROUP, list_kind_versions
from ...api.line import Line
from ...api.schema import Node, load_schema, resolve

_OLD: Final = re.compile(r"\b(?:oldSelf|optionalOldSelf)\b")
ITEMS: Final = "[]"
VALUES: Final = "{}"


def export_policies(line: Line) -> list[dict[str, Any]]:
    """A policy for each kind and version with rules; none that compares with the old object, as policies can't match items of lists."""
    made = []
    for kind, version in list_kind_versions(min(line, Line.V1_6)):  # later definitions are not known whole
        validations = [one for path, rule in schema_rules(load_schema(kind, version, line)) if (one := _validation(path, rule)) is not None]
        if validations:
            made.append(_policy(kind, version, validations))
    return made


def _policy(kind: str, version: str, validations: list[dict[str, str]]) -> dict[str, Any]:
    plural = BY_NAME[kind].plural
    rule = {"apiGroups": [GROUP], "apiVersions": [version], "operations": ["CREATE", "UPDATE"], "resources": [plural]}
    return {
        "apiVersion": f"{POLICY_GROUP}/v1",
        "kind": POLICY,
        "metadata": {"name": f"{plural}-{version}-schema-rules"},
        "spec": {"matchConstraints": {"matchPolicy": "Exact", "resourceRules": [rule]}, "validations": validations},
    }


def schema_rules(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
    """The CEL rules of a schema with their paths, whose steps into lists and maps are ITEMS and VALUES."""
    node = resolve(node)
    for rule in node.get("x-kubernetes-validations") or ():
        yield path, rule
    for name, below in (node.get("properties") or {}).items():
        yield from schema_rules(below, (*path, name))
    for key, step in (("items", ITEMS), ("additionalProperties", VALUES)):
        if isinstance(node.get(key), dict):
            yield from schema_rules(node[key], (*path, step))


def _validation(path: tuple[str, ...], rule: Node) -> dict[str, str] | None:
    """A rule at its place; None for one that compares with the old object."""
    if _OLD.search(rule["rule"]):
        return None
    place = ".".join(path).replace(".[]", "[*]").replace(".{}", "[*]")
    said = rule.get("message") or f"failed rule: {rule['rule'].strip()}"
    return {"expression": _at("object", path, rule["rule"].strip()), "message": " ".join(f"{place}: {said}".split())}


def _at(value: str, path: tuple[str, ...], rule: str, depth: int = 0) -> str:
    """The rule at each value of a path that exists; `self` is the variable of a list of one entry."""
    if not path:
        return f"[{value}].all(self, {rule})"
    step, below = path[0], path[1:]
    variable = f"each{depth}"
    if step == ITEMS:
        return f"{value}.all({variable}, {_at(variable, below, rule, depth + 1)})"
    if step == VALUES:
        return f"{value}.all({variable}, {_at(f'{value}[{variable}]', below, rule, depth + 1)})"
    return f"!has({value}.{step}) || {_at(f'{value}.{step}', below, rule, depth)}"
