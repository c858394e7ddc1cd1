"""Volumes of a pod: shared memory, claims named by mounts, their order."""

from __future__ import annotations

from typing import Any, Final

from ....api.quantity import is_quantity, is_zero
from ....conversion.lens.protocol import Fields
from ..merge import object_items, put_named

SHARED_MEMORY: Final = "shared-memory"
SHARED_MEMORY_PATH: Final = "/dev/shm"  # noqa: S108 - where programs expect it
_DEFAULT_SIZE: Final = "8Gi"


def add_shared_memory(spec: Fields, main: Fields, size: Any) -> None:
    """Add a memory-backed /dev/shm to a pod spec and a container, in place, or remove it for size 0."""
    if size is not None and is_quantity(size) and is_zero(size):
        return
    put_named(spec, "volumes", {"name": SHARED_MEMORY, "emptyDir": {"medium": "Memory", "sizeLimit": size or _DEFAULT_SIZE}})
    mounts = [one for one in object_items(main.get("volumeMounts")) if str(one.get("mountPath")) != SHARED_MEMORY_PATH]
    main["volumeMounts"] = [*mounts, {"name": SHARED_MEMORY, "mountPath": SHARED_MEMORY_PATH}]


def claim_volume(name: str) -> Fields:
    """A volume with the claim of the same name."""
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}


def add_claim(spec: Fields, name: str) -> None:
    """Add the claim's volume, unless that name exists."""
    volumes = object_items(spec.get("volumes"))
    if not any(one.get("name") == name for one in volumes):
        spec["volumes"] = [*volumes, claim_volume(name)]


def settle(spec: Fields, main: Fields) -> None:
    """Add a claim's volume for each mount without a volume, and order volumes by the main container's mounts.

    Each volume is listed once.
    """
    volumes = {one.get("name"): one for one in object_items(spec.get("volumes"))}
    ordered = {
        name: volumes.get(name) or claim_volume(str(name)) for name in (one["name"] for one in object_items(main.get("volumeMounts")))
    }
    ordered |= {name: one for name, one in volumes.items() if name not in ordered}
    if ordered:
        spec["volumes"] = list(ordered.values())
