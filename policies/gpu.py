"""How many GPUs a component asks for: as reconciliation counts, and as the Go operator's admission did. DRA's devices are not here."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.paths import Key, Path
from dynamo_webhooks.api.quantity import canonical, is_quantity, whole
from dynamo_webhooks.policies.domain import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.policies.review import Fields

_USUAL: Final = "nvidia.com/gpu"  # what `resources.*.gpu` counts where no gpuType says otherwise
_NOWHERE: Final[Path] = ("resources", "limits", "gpu")  # where one would write a number that is missing
_REMEMBERED: Final = 32  # characters; a cache must not hold megabytes of what a client sends
_LISTS: Final = ("limits", "requests")  # the first that names a GPU decides


class Gpus(NamedTuple):
    """An amount of GPUs as it was found, below the component."""

    number: int | None  # None: what was written is no whole number
    seen: str  # as written; "" when nothing asks for a GPU
    path: Path  # where it was written, or should be


def is_gpu(name: str) -> bool:
    """Whether a resource name stands for GPUs of whatever vendor, in any case: `nvidia.com/gpu`, `gpu`, `x/gpu`, `x/mig-1g.5gb`, `gpu.x/y`.

    The list is the operator's own for claims of GPUs (measured).
    """
    name = name.lower()
    return name == "gpu" or name.endswith("/gpu") or "/mig-" in name or name.startswith("gpu.")


def gpu_count(component: Fields) -> Gpus:
    """The GPUs of a component's main container, counted as reconciliation counts them.

    Limits before requests, and of several GPU names the alphabetically first; a zero found there stands. An amount that the main
    container names itself replaces the same name in `resources`, and there `custom` replaces `gpu`. Quantities count when they are whole.
    """
    resources = component.get("resources") or {}
    main = (component.get("extraPodSpec") or {}).get("mainContainer") or {}
    main_resources = main.get("resources") or {}
    limits = resources.get("limits") or {}
    if limits.get("gpu") and not (limits.get("gpuType") or limits.get("custom") or main_resources):
        return _counted(limits["gpu"], _NOWHERE)  # how nearly everybody writes it
    for part in _LISTS:
        found: dict[str, tuple[Any, Path]] = {}
        for name, amount, path in _flat(resources.get(part) or {}, ("resources", part)):
            found[name] = (amount, path)
        for name, amount in (main_resources.get(part) or {}).items():
            if amount is not None:
                trimmed = amount.strip() if isinstance(amount, str) else amount
                found[name] = (trimmed, ("extraPodSpec", "mainContainer", "resources", part, Key(name)))
        if names := [name for name in found if is_gpu(name)]:
            return _counted(*found[min(names)])
    return Gpus(0, "", _NOWHERE)


def gpu_count_1_2(component: Fields) -> Gpus:
    """The GPUs as the Go operator's admission counts them: plain digits of `resources.limits.gpu`, else of the requests."""
    resources = component.get("resources") or {}
    for part in _LISTS:
        text = (resources.get(part) or {}).get("gpu")
        if text:
            return Gpus(whole_number(text), text, _NOWHERE)
    return Gpus(0, "", _NOWHERE)


def plain_gpus(component: Fields) -> tuple[str, Path]:
    """What the main container asks for of `nvidia.com/gpu`, as one spelling of the number, and where; "" for nothing."""
    main = ((component.get("extraPodSpec") or {}).get("mainContainer") or {}).get("resources") or {}
    for part in _LISTS:
        amount = (main.get(part) or {}).get(_USUAL)
        path: Path = ("extraPodSpec", "mainContainer", "resources", part, Key(_USUAL))
        if amount is None:
            for name, flat, where in _flat((component.get("resources") or {}).get(part) or {}, ("resources", part)):
                if name == _USUAL:
                    amount, path = flat, where
        if amount is not None:
            return str(canonical(amount)) if is_quantity(amount) else str(amount), path
    return "", _NOWHERE


def is_plain(text: str) -> bool:
    """Whether a text in `resources` is a quantity; unlike those of a container these are never trimmed."""
    return _is_plain_short(text) if len(text) <= _REMEMBERED else _is_plain(text)


@lru_cache(maxsize=1024)
def _is_plain_short(text: str) -> bool:
    return _is_plain(text)


def _is_plain(text: str) -> bool:
    return is_quantity(text) and text == text.strip()


def _flat(amounts: Fields, path: Path) -> Iterator[tuple[str, Any, Path]]:
    """The amounts of `resources.limits` or `resources.requests` that may be GPUs, by resource name, later ones stronger."""
    if amounts.get("gpu"):
        yield amounts.get("gpuType") or _USUAL, amounts["gpu"], (*path, "gpu")
    for name, amount in (amounts.get("custom") or {}).items():
        if amount:
            yield name, amount, (*path, "custom", Key(name))


def _counted(amount: str | float, path: Path) -> Gpus:
    if isinstance(amount, str) and not is_plain(amount):
        return Gpus(None, amount, path)
    return Gpus(whole(amount), str(amount), path)
