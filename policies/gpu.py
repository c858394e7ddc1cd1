"""Counts the GPUs that a component requests, as the reconciler does. DRA's devices are not here."""

from typing import Final, NamedTuple

from ..api.paths import Key, Path
from ..api.quantity import canonical, is_quantity, spell, whole
from .components import find_main, read_pod
from .review import Fields

_USUAL: Final = "nvidia.com/gpu"
_NOWHERE: Final[Path] = ("resources", "limits", Key(_USUAL))  # where one would write a number that is missing
_LISTS: Final = ("limits", "requests")  # the first that names a GPU decides


class Gpus(NamedTuple):
    """An amount of GPUs as it was found, below the component."""

    number: int | None  # None: not a whole number
    text: str  # as written; "" when nothing asks for a GPU
    path: Path  # where it was written, or should be


def is_gpu(name: str) -> bool:
    """Whether a resource name means GPUs of any vendor, in any case: `nvidia.com/gpu`, `gpu`, `x/gpu`, `x/mig-1g.5gb`, `gpu.x/y`.

    The list is the operator's own for claims of GPUs (measured).
    """
    name = name.lower()
    return name == "gpu" or name.endswith("/gpu") or "/mig-" in name or name.startswith("gpu.")


def count_gpus(component: Fields) -> Gpus:
    """The GPUs of a component's main container, counted as reconciliation counts them.

    Limits before requests, and of several GPU names the alphabetically first; a zero found there counts. Quantities count when they
    are whole.
    """
    main, place = find_main(component)
    resources = main.get("resources") or {}
    for part in _LISTS:
        amounts = resources.get(part) or {}
        if names := [name for name, amount in amounts.items() if amount is not None and is_gpu(name)]:
            return _counted(amounts[min(names)], (*place, "resources", part, Key(min(names))))
    return Gpus(0, "", (*place, *_NOWHERE))


def read_plain_gpus(component: Fields) -> tuple[str, Path]:
    """The main container's `nvidia.com/gpu`, as one spelling of the number, and its place; "" for none."""
    main, place = find_main(component)
    resources = main.get("resources") or {}
    for part in _LISTS:
        amount = (resources.get(part) or {}).get(_USUAL)
        if amount is not None:
            return str(canonical(amount)) if is_quantity(amount) else str(amount), (*place, "resources", part, Key(_USUAL))
    return "", (*place, *_NOWHERE)


def count_plain_gpus(component: Fields) -> int:
    """The whole numbers of `nvidia.com/gpu` of all containers and init containers of the pod template together."""
    pod = read_pod(component)
    resources = ((each or {}).get("resources") or {} for part in ("containers", "initContainers") for each in pod.get(part) or ())
    amounts = (next((amount for part in _LISTS if (amount := (block.get(part) or {}).get(_USUAL)) is not None), "0") for block in resources)
    return sum(whole(amount) or 0 for amount in amounts if is_quantity(amount))


def is_plain(text: str) -> bool:
    """Whether a text in `resources` is a quantity; unlike those of a container these are never trimmed."""
    return spell(text) is not None


def _counted(amount: str | float, path: Path) -> Gpus:
    if isinstance(amount, str) and not is_plain(amount):
        return Gpus(None, amount, path)
    return Gpus(whole(amount), str(amount), path)
