"""Generations of workers: the digest of their pods, and the steps of a roll."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.reconciler.render.graph import experimental
from dynamo_webhooks.reconciler.render.names import digest
from dynamo_webhooks.reconciler.render.workload import shared_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dynamo_webhooks.conversion.lens.protocol import Fields


PLACEHOLDER: Final = "worker-hash"  # placeholder for the generation while it is computed
_NO_SHAPE: Final = ("replicas", "scalingAdapter", "runtimeVersionOverride")  # the number of pods, and what nothing acts on
_POLICIES: Final = ("enabled", "startupPolicy", "deletionPolicy")  # when pods start, and what becomes of their checkpoint
_DEFAULT_SHARE: Final = "25%"


def worker_digest(components: Iterable[Fields]) -> str:
    """The generation of a graph's workers: eight hexadecimal digits over all that shapes their pods, except their number.

    The components are the workers' objects with the placeholder for a generation. Labels and annotations count as pods get them.

    Raises: RenderError if an object can't be converted.
    """
    told = {}
    for one in components:
        labels, annotations = shared_metadata(one)
        told[one["spec"]["name"]] = {"labels": labels, "annotations": annotations, "spec": _shaping(one["spec"])}
    return digest(json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def _shaping(spec: Fields) -> Fields:
    """What of a component shapes its pods. Line 1.5 fills in policies of checkpoints, of which no pod must restart."""
    out = {name: value for name, value in spec.items() if name not in _NO_SHAPE}
    wanted = experimental(spec, "checkpoint")
    if "checkpoint" in (spec.get("experimental") or {}):
        rest = {name: value for name, value in spec["experimental"].items() if name != "checkpoint"}
        kept = {name: value for name, value in (wanted or {}).items() if name not in _POLICIES}
        rest |= {"checkpoint": kept} if wanted is not None else {}
        out = {name: value for name, value in out.items() if name != "experimental"} | ({"experimental": rest} if rest else {})
    return out


class Sizes(NamedTuple):
    """Replicas of one worker component during a roll: desired, and wanted and available of both generations."""

    desired: int
    old: int
    old_available: int
    new: int
    new_available: int


class Targets(NamedTuple):
    """The next replicas of both generations."""

    old: int
    new: int


def next_sizes(sizes: Sizes, max_surge: str, max_unavailable: str) -> Targets:
    """The next step of a roll, within surge and unavailability.

    The shares are numbers or percentages from annotations; empty or invalid ones are 25 %.
    """
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
    return Targets(old, new)


def held_back(name: str, all_sizes: Mapping[str, Sizes], max_surge: str, max_unavailable: str) -> int:
    """The replicas that the old generation of a component keeps for the other components.

    Prefill and decode work together only within a generation, so an old component shrinks only as far as the whole new generation is
    available, and to zero only when that is complete. Unavailable replicas, and those that may be unavailable, aren't kept.
    """
    sizes = all_sizes[name]
    others = [one for one in all_sizes.values() if one.desired > 0]
    if len(others) < 2 or sizes.desired == 0:
        return 0
    missing = max(-(-sizes.desired * (one.desired - min(one.new_available, one.desired)) // one.desired) for one in others)
    unavailable = _amount(max_unavailable, sizes.desired, up=False)
    surge = _amount(max_surge, sizes.desired, up=True) or not unavailable
    return min(sizes.old_available, max(missing - unavailable, 1 if missing and surge else 0))


def share(text: str) -> int | str:
    """A number or a percentage as in Kubernetes; else the default."""
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    number = text.removesuffix("%")
    return text if text.endswith("%") and number.isascii() and number.isdigit() and len(number) < 10 else _DEFAULT_SHARE


def _amount(text: str, desired: int, *, up: bool) -> int:
    value = share(text)
    if isinstance(value, int):
        return value
    percent = int(value.removesuffix("%")) * desired
    return -(-percent // 100) if up else percent // 100
