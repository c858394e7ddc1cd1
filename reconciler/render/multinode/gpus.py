"""The GPUs of one node of a replica, for decisions about parallelism; `gms` counts those of claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.quantity import is_quantity, whole

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields

USUAL: Final = "nvidia.com/gpu"


def gpus_per_node(container: Fields) -> int:
    """The GPUs of a container: requests before limits, the usual name before others; 0 if there are none or the amount is invalid."""
    resources = container.get("resources") or {}
    for part in ("requests", "limits"):
        amounts = {name: amount for name, amount in (resources.get(part) or {}).items() if _counts(name) and amount is not None}
        if amounts:
            amount = amounts.get(USUAL, amounts[min(amounts)])
            return (whole(amount) if is_quantity(amount) else None) or 0
    return 0


def _counts(name: str) -> bool:
    return name in (USUAL, "gpu", "nvidia/gpu") or name.endswith("/gpu") or ".com/gpu" in name or name.startswith("mig-") or "/mig-" in name
