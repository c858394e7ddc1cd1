"""The profiler's free-form configuration (left) and the typed sections of a request (right): projected fields, and the rest.

Only leaves are projected: an object without typed members makes no section on the right, so a section can be deleted there while members
of the left are kept.
"""

from typing import Any, Final

from .difference import are_identical
from .lens.protocol import Fields, object_of

# leaf of the blob's `sla` -> section on the right that has it under the same name
TARGETS: Final = {"ttft": "sla", "itl": "sla", "optimizationType": "sla", "isl": "workload", "osl": "workload"}
# member of the blob's `deployment.modelCache` -> member of the right `modelCache`
CACHE: Final = {"pvcName": "pvcName", "modelPathInPvc": "pvcModelPath", "pvcMountPath": "pvcMountPath"}
_DIRECTIONS: Final = ("latency", "throughput")
_INT32: Final = 2**31


def project(blob: Fields, kept: Fields, out: Fields) -> Fields:
    """Write typed members into the sections of `out`, and return the rest of the blob.

    `kept` is the saved right side: a direction that its schema doesn't allow is restored unless it changed.
    """
    rest = dict(blob)
    _project_targets(rest, kept, out)
    _project_cache(rest, out)
    planner = rest.get("planner")
    if planner and type(planner) is dict:
        out.setdefault("features", {})["planner"] = rest.pop("planner")
    return rest


def _project_targets(rest: Fields, kept: Fields, out: Fields) -> None:
    targets = rest.get("sla")
    if type(targets) is not dict:
        return
    remaining = dict(targets)
    for name, section in TARGETS.items():
        value = targets.get(name)
        if value is not None and (speaks(name, value) or are_identical(value, object_of(kept.get(section)).get(name))):
            # tokens are integers on the right; typed readers refuse 100.0
            out.setdefault(section, {})[name] = int(value) if section == "workload" else value
            del remaining[name]
    _shrink(rest, "sla", targets, remaining)


def _project_cache(rest: Fields, out: Fields) -> None:
    deployment = object_of(rest.get("deployment"))
    cache = deployment.get("modelCache")
    if type(cache) is not dict:
        return
    remaining = dict(cache)
    for name, other in CACHE.items():
        value = cache.get(name)
        if value and type(value) is str:
            out.setdefault("modelCache", {})[other] = value
            del remaining[name]
    if len(remaining) < len(cache):
        smaller = dict(deployment)
        _shrink(smaller, "modelCache", cache, remaining)
        _shrink(rest, "deployment", deployment, smaller)


def _shrink(holder: Fields, name: str, before: Fields, after: Fields) -> None:
    """Put the smaller object in its place, or remove one that became empty; one that was empty before stays."""
    if after:
        holder[name] = after
    elif before:
        del holder[name]


def speaks(name: str, value: Any) -> bool:
    """Whether a leaf of the blob's `sla` has an equivalent on the right; fractions and overflows of token counts don't."""
    if name == "optimizationType":
        return type(value) is str and value in _DIRECTIONS
    if TARGETS[name] == "sla":
        return type(value) in (int, float)
    whole = type(value) is int or (type(value) is float and value.is_integer())
    return bool(whole and -_INT32 <= value < _INT32)


def collect(sections: Fields, kept: Any, save: Fields) -> Any:
    """The blob of the sections and the saved rest of an earlier blob; None if there is none.

    Sections override; other members of the same objects stay. A direction that the way back would not recognise is saved.
    """
    blob = project(kept, {}, {}) if type(kept) is dict else kept
    found = {name: value for name, section in TARGETS.items() if _writes(name, value := object_of(sections.get(section)).get(name))}
    if found:
        blob = {**object_of(blob), "sla": {**object_of(object_of(blob).get("sla")), **found}}
        if "optimizationType" in found and not speaks("optimizationType", found["optimizationType"]):
            save.setdefault("sla", {})["optimizationType"] = found["optimizationType"]
    section = object_of(sections.get("modelCache"))
    cache = {name: value for name, other in CACHE.items() if (value := section.get(other)) and type(value) is str}
    if cache:
        deployment = object_of(object_of(blob).get("deployment"))
        blob = {**object_of(blob), "deployment": {**deployment, "modelCache": {**object_of(deployment.get("modelCache")), **cache}}}
    planner = object_of(sections.get("features")).get("planner")
    if planner and type(planner) is dict:
        blob = {**object_of(blob), "planner": planner}
    return blob


def _writes(name: str, value: Any) -> bool:
    """Whether a member of a section is written to the blob: if it round-trips, and any direction, as in the Go operator."""
    if name == "optimizationType":
        return bool(value) and type(value) is str
    return value is not None and speaks(name, value) and (TARGETS[name] == "sla" or type(value) is int)
