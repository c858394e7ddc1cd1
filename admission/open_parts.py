"""Judges templates of roles by their whole schema, because definitions leave their longest parts open."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from ..api.paths import Key, Path, lookup
from ..api.schema import Node, find_node, load_schema
from ..api.walk.correlate import list_errors
from ..api.walk.default import without_nulls
from ..api.walk.prune import prune
from ..api.walk.structure import structure_errors
from ..policies.checks import SCHEMA_RULE, UNKNOWN_FIELD
from ..policies.component.pods import pod_refused
from ..policies.components import LPX
from ..policies.engines import ENGINES_SINCE, list_templates
from ..policies.evaluate import is_deletion
from ..policies.finding import Cause, Finding
from ..policies.pods import list_refused
from ..policies.review import Fields, Review
from ..policies.rule import DCD, DCD_V1ALPHA1, DGD, DGD_V1ALPHA1, Level
from .kept import as_finding

# the map or list of components in the spec; empty where the spec is the component
_COMPONENTS: Final = {DGD_V1ALPHA1: "services", DGD: "components", DCD_V1ALPHA1: "", DCD: ""}


def judge_open_parts(review: Review, limit: int) -> list[Finding]:
    """At most so many unknown fields and violations of the schema in templates of roles, without those that the stored object has."""
    field = _COMPONENTS.get(review.kind)
    if field is None or review.line < ENGINES_SINCE or is_deletion(review):
        return []
    kind, _, version = review.kind.partition("/")
    schema = load_schema(kind, version, review.line)
    findings = list(islice(_find_mistakes(review.object, field, schema), limit))
    if not findings or review.old is None:
        return findings
    stored = {_identify(finding, review.old) for finding in _find_mistakes(review.old, field, schema)}
    return [finding for finding in findings if _identify(finding, review.object) not in stored]


def _find_mistakes(obj: Fields, field: str, schema: Node) -> Iterator[Finding]:
    for path, component in _list_components(obj, field):
        for index, template in list_templates(component):
            template_path: Path = (*path, "roles", index, "podTemplate")
            node = find_node(schema, template_path) or {}
            known = without_nulls(template, node)  # a copy, which may be pruned
            for below in prune(known, node):
                yield Finding(UNKNOWN_FIELD, Cause.INVALID, Level.ERROR, template_path + below, "is not a field of this kind")
            errors = [error for check in (structure_errors, list_errors) for error in check(known, node)]
            for error in errors:
                yield as_finding(error._replace(path=template_path + error.path), SCHEMA_RULE)
            # v1alpha1 has features beside the other fields
            features = {**component, "experimental": component.get("experimental") or component}
            for below, text in () if errors else list_refused(features, known):
                # a rule of its own reads annotations of roles
                if below[:2] != ("metadata", "annotations") and not _lacks_image(component, known, below):
                    yield Finding(pod_refused, Cause.INVALID, Level.ERROR, template_path + below, text)


def _lacks_image(component: Fields, template: Fields, path: Path) -> bool:
    """Whether a path is that of a blank image which the rule `role-template-image` reports as missing, as it does for LPX."""
    is_lpx = LPX in (component.get("type"), component.get("componentType"))
    return is_lpx and path[-1] == "image" and not str(lookup(template, path)).strip()


def _list_components(obj: Fields, field: str) -> Iterator[tuple[Path, Fields]]:
    spec: Fields = obj.get("spec") or {}
    if not field:
        yield ("spec",), spec
        return
    listed: Any = spec.get(field) or ()
    for step, component in listed.items() if isinstance(listed, dict) else enumerate(listed):
        if component:
            yield ("spec", field, Key(step) if isinstance(step, str) else step), component


def _identify(finding: Finding, obj: Fields) -> tuple[tuple[object, ...], str]:
    """Returns what findings are compared by: sentence, and path with names for indices, which change when an entry is put in front."""
    value: Any = obj
    steps: list[object] = []
    for step in finding.path[:-1]:
        value = value[step]
        steps.append(value.get("name", step) if isinstance(step, int) and isinstance(value, dict) else step)
    return (*steps, finding.path[-1]), finding.text
