"""Generations of workers: the digest that tells when their pods would change, and the arithmetic of rolling from one to the next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.reconciler.render.names import digest
from dynamo_webhooks.reconciler.render.workload import shared_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dynamo_webhooks.conversion.lens.protocol import Fields

PLACEHOLDER: Final = "worker-hash"  # stands for the generation while it is being computed
_SCALED: Final = ("replicas", "scalingAdapter")  # how many pods, not what they are
_DEFAULT_SHARE: Final = "25%"


def worker_digest(components: Iterable[Fields]) -> str:
    """The generation of a graph's workers: eight hexadecimal digits over all that shapes their pods, but for how many there are.

    The components are the workers' objects, made with the placeholder for a generation. Labels and annotations count as the pods
    get them, whichever version they come from.

    Raises: RenderError where an object can't be converted.
    """
    told = {}
    for one in components:
        labels, annotations = shared_metadata(one)
        spec = {name: value for name, value in one["spec"].items() if name not in _SCALED}
        told[one["spec"]["name"]] = {"labels": labels, "annotations": annotations, "spec": spec}
    return digest(json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


class Sizes(NamedTuple):
    """One worker component during a roll, in replicas: desired, and of both generations asked for and available."""

    desired: int
    old: int
    old_available: int
    new: int
    new_available: int


class Targets(NamedTuple):
    """What the two generations are to have next."""

    old: int
    new: int


def next_sizes(sizes: Sizes, max_surge: str, max_unavailable: str) -> Targets:
    """The next step of a roll: never more than the surge above what is desired, never fewer available than permitted.

    The shares are numbers or percentages as annotations hold them; empty or unreadable ones are 25 %.
    """
    surge = _amount(max_surge, sizes.desired, up=True)
    unavailable = _amount(max_unavailable, sizes.desired, up=False)
    if surge == 0 and unavailable == 0:
        surge = 1  # otherwise nothing could ever move
    least = sizes.desired - unavailable
    starting = max(0, sizes.new - sizes.new_available)
    most_down = max(0, sizes.old + sizes.new - least - starting)
    broken = max(0, sizes.old - sizes.old_available)
    spare = max(0, sizes.old_available + sizes.new_available - least)
    old = max(0, sizes.old - min(most_down, broken + spare))
    new = min(sizes.desired, sizes.new + max(0, sizes.desired + surge - sizes.old - sizes.new))
    return Targets(old, new)


def held_back(name: str, all_sizes: Mapping[str, Sizes], max_surge: str, max_unavailable: str) -> int:
    """The replicas that the old generation of a component keeps for the sake of the other components.

    Prefill and decode work together within a generation only, so an old component shrinks no further than the new generation has come as
    a whole, and not to nothing before that is complete. What doesn't serve needn't be kept, nor what may be unavailable.
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
    """A number or a percentage as Kubernetes takes it; anything else is the default."""
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
