"""Renewal of pods: the digest of workers, which are of one generation, the steps of a roll, and restarts of a graph."""

import json
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from ...api.line import OLDEST, Line
from ...conversion.lens.protocol import Fields
from ...policies.engines import ENGINES_SINCE, find_sidecar, list_templates
from .discovery import is_per_container
from .framework import runtime_of
from .graph import Graph, read_experimental, read_restart_id
from .merge import string_map
from .names import digest
from .observed import ObservedState
from .template import find_shared_template
from .workload import read_workload

PLACEHOLDER: Final = "worker-hash"  # placeholder for the generation while it is computed
# the number of pods, what nothing acts on, and the version, which counts as it is resolved
_NO_SHAPE: Final = ("replicas", "scalingAdapter", "runtimeVersionOverride", "roles")
_POLICIES: Final = ("enabled", "startupPolicy", "deletionPolicy")  # when pods start, and what becomes of their checkpoint
_OF_JOB: Final = ("mode", "job")  # whether a checkpoint is made, and by which pod
_MARKS: Final = ("labels", "annotations")  # all that pods get of a template's metadata


class WorkerDigests(NamedTuple):
    """The generation of a graph's workers: eight hexadecimal digits over all that shapes their pods, except their number."""

    now: str
    before: str  # as releases named it that also counted what nothing acts on


def compute_digests(components: Iterable[Fields], line: Line) -> WorkerDigests:
    """The digests of components on a line, which are the workers' objects with the placeholder for a generation.

    Labels and annotations count as pods get them. Raises: RenderError if an object can't be converted.
    """
    shapes, before = {}, {}
    for component in components:
        made = read_workload(component, OLDEST)  # as `split` makes it; no digest changes with the line
        marks = {"labels": made.labels, "annotations": made.annotations}
        shape = _shaping(component["spec"], line)
        if runtime := runtime_of(component["spec"], line):
            shape["runtime"] = [*runtime]
        before[component["spec"]["name"]] = {**marks, "spec": shape}
        shapes[component["spec"]["name"]] = {**marks, "spec": _without_idle(shape)}
    now, then = (digest(json.dumps(workers, sort_keys=True, separators=(",", ":"), ensure_ascii=False)) for workers in (shapes, before))
    return WorkerDigests(now, then)


def _shaping(spec: Fields, line: Line) -> Fields:
    """Return the part of a component that shapes its pods. Line 1.5 fills in policies of checkpoints, of which no pod must restart."""
    out = {name: value for name, value in spec.items() if name not in _NO_SHAPE}
    if templates := list_templates(spec):
        out["roles"] = {str(spec["roles"][index].get("name")): _with_marks(template) for index, template in templates}
    elif find_sidecar(line, spec) or (line >= ENGINES_SINCE and _names_sidecar(spec)):
        out["line"] = ENGINES_SINCE  # since which such pods are rendered otherwise
    wanted = read_experimental(spec, "checkpoint")
    if "checkpoint" in (spec.get("experimental") or {}):
        kept = {name: value for name, value in (wanted or {}).items() if name not in _POLICIES}
        out = _with_checkpoint(out, kept if wanted is not None else None)
    return out


def _without_idle(shape: Fields) -> Fields:
    """Return `shape` without what nothing acts on, and what only shapes the pod that takes a checkpoint."""
    out = {name: value for name, value in shape.items() if name != "topologyConstraint"}
    if model := out.get("modelRef"):
        out["modelRef"] = {name: value for name, value in model.items() if name != "revision"}
    if (template := out.get("podTemplate") or {}).get("metadata"):
        out["podTemplate"] = _with_marks(template)
    if checkpoint := read_experimental(out, "checkpoint"):
        out = _with_checkpoint(out, {name: value for name, value in checkpoint.items() if name not in _OF_JOB})
    return out


def _with_marks(template: Fields) -> Fields:
    metadata = template.get("metadata") or {}
    return {**template, "metadata": {name: metadata[name] for name in _MARKS if name in metadata}}


def _names_sidecar(spec: Fields) -> bool:
    """Whether the frontend in a worker's pod is discovered by the name of its container."""
    return bool(spec.get("frontendSidecar")) and is_per_container(
        string_map((find_shared_template(spec).get("metadata") or {}).get("annotations"))
    )


def _with_checkpoint(spec: Fields, checkpoint: Fields | None) -> Fields:
    """A component with another block of its checkpoint, or without one."""
    rest = {name: value for name, value in spec["experimental"].items() if name != "checkpoint"}
    rest |= {"checkpoint": checkpoint} if checkpoint is not None else {}
    return {name: value for name, value in spec.items() if name != "experimental"} | ({"experimental": rest} if rest else {})


class RollSizes(NamedTuple):
    """Replicas of one worker component during a roll: desired, and wanted and available of both generations."""

    desired: int
    old: int
    old_available: int
    new: int
    new_available: int


def next_sizes(sizes: RollSizes, max_surge: str, max_unavailable: str) -> tuple[int, int]:
    """The next replicas of the old and the new generation, within shares of surge and unavailability; empty or invalid ones are 25 %."""
    surge = _amount(max_surge, sizes.desired, up=True)
    unavailable = _amount(max_unavailable, sizes.desired, up=False)
    if surge == 0 and unavailable == 0:
        surge = 1  # otherwise the roll could never proceed
    least = sizes.desired - unavailable
    starting = max(0, sizes.new - sizes.new_available)
    most_down = max(0, sizes.old + sizes.new - least - starting)
    broken = max(0, sizes.old - sizes.old_available)
    spare = max(0, sizes.old_available + sizes.new_available - least)
    old = max(0, sizes.old - min(most_down, broken + spare))
    new = min(sizes.desired, sizes.new + max(0, sizes.desired + surge - sizes.old - sizes.new))
    return old, new


def count_held_back(name: str, all_sizes: Mapping[str, RollSizes], max_surge: str, max_unavailable: str) -> int:
    """The replicas that the old generation of a component keeps for the other components.

    Prefill and decode work together only within a generation, so an old component shrinks only as far as the whole new generation is
    available, and to zero only when that is complete. Unavailable replicas, and those that may be unavailable, aren't kept.
    """
    sizes = all_sizes[name]
    others = [other for other in all_sizes.values() if other.desired > 0]
    if len(others) < 2 or sizes.desired == 0:
        return 0
    missing = max(-(-sizes.desired * (other.desired - min(other.new_available, other.desired)) // other.desired) for other in others)
    unavailable = _amount(max_unavailable, sizes.desired, up=False)
    surge = _amount(max_surge, sizes.desired, up=True) or not unavailable
    return min(sizes.old_available, max(missing - unavailable, 1 if missing and surge else 0))


def share(text: str) -> int | str:
    """A number or a percentage as in Kubernetes; else 25 %."""
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    number = text.removesuffix("%")
    return text if text.endswith("%") and number.isascii() and number.isdigit() and len(number) < 10 else "25%"


def _amount(text: str, desired: int, *, up: bool) -> int:
    value = share(text)
    if isinstance(value, int):
        return value
    percent = int(value.removesuffix("%")) * desired
    return -(-percent // 100) if up else percent // 100


def list_restart_marks(graph: Graph, observed: ObservedState) -> dict[str, str]:
    """The restart mark of each component's pods; a mark stays, because its removal would be a restart."""
    marks = dict(observed.restart_at)
    restart = read_restart_id(graph)
    status = (graph.object.get("status") or {}).get("restart") or {}
    if not restart or observed.rolling or (status.get("observedID") == restart and status.get("phase") == "Superseded"):
        return marks
    if status.get("observedID") == restart and status.get("phase") == "Completed":
        return marks | dict.fromkeys((member.name for member in graph.members), restart)
    for name in order(graph):
        marks[name] = restart
        if name not in observed.restarted and not is_parallel(graph):
            break
    return marks


def list_restarts(graph: Graph) -> list[str]:
    """The components that a sequential restart concerns, in order; none without one."""
    return order(graph) if read_restart_id(graph) and not is_parallel(graph) else []


def order(graph: Graph) -> list[str]:
    """The components in the order of restart: as given, else by name."""
    known = [member.name for member in graph.members]
    return [name for name in _strategy(graph).get("order") or () if name in known] or sorted(known)


def is_parallel(graph: Graph) -> bool:
    """Whether all components restart at once."""
    return _strategy(graph).get("type") == "Parallel"


def _strategy(graph: Graph) -> Fields:
    strategy: Fields = (graph.spec.get("restart") or {}).get("strategy") or {}
    return strategy
