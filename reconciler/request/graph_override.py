"""Lays `overrides.dgd` of a request over the graph of its profiler, in the version that the override is written in. Pure."""

import copy
from typing import Any, Final, NamedTuple

from ...api.decode import decoder
from ...api.line import Line
from ...api.paths import Path, format_path
from ...api.schema import Node, load_schema, resolve
from ...api.shape import child, keyed_items, merge
from ...api.walk.prune import prune
from ...conversion.difference import are_identical
from ...conversion.kinds import KINDS
from ...conversion.lens.protocol import ConversionError, Fields
from ...conversion.objects import convert_object, target
from ...conversion.remainder import reserved_keys
from ...policies.components import read_pod
from ..render.merge import object_items

GRAPH: Final = "DynamoGraphDeployment"
VERSIONS: Final = ("nvidia.com/v1alpha1", "nvidia.com/v1beta1")
_TAKEN: Final = ("labels", "annotations")  # of the metadata
_PASSED_OVER: Final = ("name", "namespace", "creationTimestamp")  # what says nothing of a graph that is made
_COMPONENTS: Final = {"v1alpha1": "services", "v1beta1": "components"}


class OverrideError(Exception):
    """An override or a graph that can't be merged; the message begins with the field at fault."""


class OverriddenGraph(NamedTuple):
    """The graph with its override, in its own version, and what of the override has no effect, or more than it says."""

    graph: Fields
    warnings: tuple[str, ...] = ()


def override_of(request: Fields) -> Fields | None:
    """Return the override that a request has for its graph."""
    override = ((request.get("spec") or {}).get("overrides") or {}).get("dgd")
    return override if isinstance(override, dict) else None


def explain_unfit(override: Fields) -> str:
    """Explain why an object is no override of a graph; empty if it is one."""
    kind, version = override.get("kind"), override.get("apiVersion")
    if kind != GRAPH:
        return f"kind: must be {GRAPH}, got {str(kind or 'nothing')[:60]}"
    if version not in VERSIONS:
        return f"apiVersion: must be one of {', '.join(VERSIONS)}, got {str(version or 'nothing')[:60]}"
    wrong = decoder(GRAPH, _version(override))(override)
    return f"{format_path(wrong[0].path)}: {wrong[0].message}" if wrong else ""


def override_graph(graph: Fields, override: Fields, line: Line) -> OverriddenGraph:
    """The graph with what the override says; the graph itself where that changes nothing. Raises: OverrideError."""
    if unfit := explain_unfit(override):
        raise OverrideError(unfit)
    if unfit := explain_unfit(graph):
        raise OverrideError(f"the graph's {unfit}")
    version = _version(override)
    schema = load_schema(GRAPH, version, line)
    wanted, warnings = _take(override, schema)
    try:
        base = convert_object(graph, target(f"nvidia.com/{version}", line), whole=True).object
        base_spec = base.get("spec") or {}
        warnings += _leave_out_strangers(wanted["spec"], base_spec, _COMPONENTS[version], schema)
        replaced: list[Path] = []
        spec = merge(base_spec, wanted["spec"], resolve(schema["properties"]["spec"]), replaced, ("spec",))
        metadata = merge(base.get("metadata") or {}, wanted["metadata"], None, [])
        if are_identical(spec, base_spec) and are_identical(metadata, base.get("metadata") or {}):
            return OverriddenGraph(graph, tuple(warnings))
        merged = {**base, "metadata": metadata, **({"spec": spec} if spec or "spec" in base else {})}
        made = convert_object(merged, target(str(graph["apiVersion"]), line), whole=True).object
    except ConversionError as error:
        raise OverrideError(f"{format_path(error.path)}: {error.reason}") from None
    warnings += [
        f"{format_path(path)}: replaces the whole list of the graph, since the schema gives its items no keys" for path in replaced
    ]
    return OverriddenGraph(made, tuple(warnings))


def _take(override: Fields, schema: Node) -> tuple[Fields, list[str]]:
    """Return the part of an override that counts, and warnings of what doesn't."""
    wanted = copy.deepcopy(override)
    warnings = [f"{format_path(path)}: is dropped, since {override['apiVersion']} has no such field" for path in prune(wanted, schema)]
    if wanted.pop("status", None) is not None:
        warnings.append("status: is dropped, since the operator writes it")
    metadata = wanted.get("metadata") or {}
    others = [name for name in metadata if name not in (*_TAKEN, *_PASSED_OVER)]
    warnings += [f"metadata.{name}: is dropped, since only labels and annotations are merged" for name in others]
    kept = {name: dict(metadata[name]) for name in _TAKEN if metadata.get(name)}
    for key in reserved_keys(KINDS[GRAPH]):
        if kept.get("annotations", {}).pop(key, None) is not None:
            warnings.append(f"metadata.annotations[{key}]: is dropped, since it holds what a conversion has kept of another object")
    return {"metadata": {name: value for name, value in kept.items() if value}, "spec": wanted.get("spec") or {}}, warnings


def _leave_out_strangers(wanted: Fields, base: Fields, field: str, schema: Node) -> list[str]:
    """Leave out components that the graph lacks, unless they bring a pod, in place: a slip in a name makes no component."""
    node = child(resolve(schema["properties"]["spec"]), field).node
    given = wanted.get(field)
    if isinstance(given, dict):
        known, named = {*(base.get(field) or {})}, [*given.items()]
    else:
        olds = keyed_items(base.get(field) or [], node) or {}
        known, named = (
            {str(component.get("name")) for component in olds.values()},
            [(str(component.get("name")), component) for component in object_items(given)],
        )
    gone = [name for name, component in named if name not in known and not _brings_pod(component)]
    strangers, listed = {*gone}, ", ".join(sorted(known))[:300] if gone else ""
    kept = [(name, component) for name, component in named if name not in strangers]
    if given is not None:
        wanted[field] = dict(kept) if isinstance(given, dict) else [component for _, component in kept]
    why = "is dropped, since the graph has no such component and it has no image to be a new one"
    return [f"spec.{field}[{name[:80]}]: {why}; it has {listed}" for name in gone]


def _brings_pod(component: Any) -> bool:
    """Whether a component of either version says what its main container runs."""
    if not isinstance(component, dict):
        return False
    mains = [(component.get("extraPodSpec") or {}).get("mainContainer") or {}]
    mains += object_items(read_pod(component).get("containers"))
    return any(container.get("image") for container in mains)


def _version(obj: Fields) -> str:
    return str(obj["apiVersion"]).rpartition("/")[2]
