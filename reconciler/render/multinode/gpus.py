"""Counts the GPUs of a pod in a multinode replica, also those by claims of devices (DRA)."""

from __future__ import annotations

import re
from typing import Final

from ....api.paths import Path
from ....api.quantity import is_quantity, whole
from ....conversion.lens.protocol import Fields
from ....policies.components import read_pod
from ....policies.engines import list_templates
from ....policies.gpu import is_gpu
from ..errors import RenderError
from ..framework import main_of
from ..merge import object_items
from ..settings import ClaimDependencies

DEFAULT_NAME: Final = "nvidia.com/gpu"


def count_gpus_per_node(container: Fields) -> int:
    """The GPUs of a container: requests before limits, the usual name before others; 0 if there are none or the amount is invalid."""
    resources = container.get("resources") or {}
    for part in ("requests", "limits"):
        amounts = {name: amount for name, amount in (resources.get(part) or {}).items() if _counts(name) and amount is not None}
        if amounts:
            amount = amounts.get(DEFAULT_NAME, amounts[min(amounts)])
            return (whole(amount) if is_quantity(amount) else None) or 0
    return 0


def _counts(name: str) -> bool:
    return (
        name in (DEFAULT_NAME, "gpu", "nvidia/gpu")
        or name.endswith("/gpu")
        or ".com/gpu" in name
        or name.startswith("mig-")
        or "/mig-" in name
    )


_GPUS: Final = ("gpu.", "mig.")  # how names of drivers and classes of GPUs begin, as gpu.nvidia.com does
_OTHERS: Final = ("compute-domain",)  # channels between nodes
_DRIVER: Final = re.compile(r"device\.driver\s*==\s*[\"']([^\"']+)[\"']")


class _UncountableError(Exception):
    """A claim whose number of GPUs can't be determined; the message explains why."""


def count_gpus(component: Fields, path: Path, known: ClaimDependencies) -> int:
    """The GPUs of a component's main container: of its resources, else of its claims. Raises: RenderError if a claim can't be counted."""
    return count_gpus_per_node(main_of(component)) or count_claimed(component, path, known)


def count_claimed(component: Fields, path: Path, known: ClaimDependencies) -> int:
    """The GPUs that its claims alone give. Raises: RenderError if a claim can't be counted."""
    entries = {claim.get("name"): claim for claim in _pod_claims(component)}
    named = object_items((main_of(component).get("resources") or {}).get("claims"))
    return sum(_count(claim, entries.get(claim.get("name")) or {}, path, known) for claim in named)


def count_pod_claims(component: Fields, path: Path, known: ClaimDependencies) -> int:
    """The GPUs that all claims of a pod give, whichever container uses them. Raises: RenderError if a claim can't be counted."""
    return sum(_count({"name": claim.get("name")}, claim, path, known) for claim in _pod_claims(component))


def _count(claim: Fields, entry: Fields, path: Path, known: ClaimDependencies) -> int:
    try:
        return _of_claim(entry, str(claim.get("request") or ""), known)
    except _UncountableError as error:
        text = f"must give GPUs that can be counted, since launch arguments depend on them; claim {_shorten(claim.get('name'))}: {error}"
        raise RenderError((*path, "podTemplate", "spec", "resourceClaims"), text) from None


def find_needed_templates(component: Fields) -> set[str]:
    """The claim templates by which the GPUs of a component's pods are counted."""
    pods = [component, *({"podTemplate": template} for _, template in list_templates(component))]
    return {name for pod in pods for claim in _pod_claims(pod) if (name := str(claim.get("resourceClaimTemplateName") or ""))}


def find_needed_classes(template: Fields) -> set[str]:
    """The device classes of a claim template whose names don't say what they are."""
    every = {str(alternative.get("deviceClassName") or "") for request in _requests(template) for alternative in _alternatives(request)}
    return {name for name in every if name and not name.startswith((*_GPUS, *_OTHERS))}


def _pod_claims(component: Fields) -> list[Fields]:
    return object_items(read_pod(component).get("resourceClaims"))


def _of_claim(entry: Fields, request: str, known: ClaimDependencies) -> int:
    name = str(entry.get("resourceClaimTemplateName") or "")
    if not name:
        raise _UncountableError("must name a template by resourceClaimTemplateName, since each node needs its own devices")
    template = known.templates.get(name, known.absent)
    if isinstance(template, str):
        raise _UncountableError(f"ResourceClaimTemplate {_shorten(name)} {template}")
    return sum(_of_request(device_request, known) for device_request in _requests(template) if request in ("", device_request.get("name")))


def _of_request(request: Fields, known: ClaimDependencies) -> int:
    counts = {_of_devices(alternative, str(request.get("name")), known) for alternative in _alternatives(request)}
    if len(counts) > 1:
        raise _UncountableError(f"request {_shorten(request.get('name'))} must give as many GPUs by each of its alternatives")
    return counts.pop() if counts else 0


def _of_devices(devices: Fields, request: str, known: ClaimDependencies) -> int:
    if devices.get("adminAccess") is True or not _gives_gpus(str(devices.get("deviceClassName") or ""), known):
        return 0
    if devices.get("allocationMode") == "All":
        raise _UncountableError(f"request {_shorten(request)} asks for all devices; it must ask for a count")
    count = devices.get("count")
    return count if type(count) is int else 1


def _gives_gpus(name: str, known: ClaimDependencies) -> bool:
    """Whether the devices of a class are GPUs: by its name, else by the driver that its selectors ask for."""
    if name.startswith(_GPUS):
        return True
    if not name or name.startswith(_OTHERS):
        return False
    device_class = known.classes.get(name, known.absent)
    if isinstance(device_class, str):
        raise _UncountableError(f"DeviceClass {_shorten(name)} {device_class}")
    spec = device_class.get("spec") or {}
    if is_gpu(str(spec.get("extendedResourceName") or "")):
        return True
    texts = [str((selector.get("cel") or {}).get("expression")) for selector in object_items(spec.get("selectors"))]
    drivers: set[str] = {driver for text in texts for driver in _DRIVER.findall(text)}
    if len(drivers) != 1:
        raise _UncountableError(f"DeviceClass {_shorten(name)} must name one driver by device.driver, so that GPUs are recognised")
    return drivers.pop().startswith(_GPUS)


def _requests(template: Fields) -> list[Fields]:
    spec = (template.get("spec") or {}).get("spec") or {}
    return object_items((spec.get("devices") or {}).get("requests"))


def _alternatives(request: Fields) -> list[Fields]:
    """List the alternatives that a request asks for: one of several, or exactly one, which older versions write into the request itself."""
    return object_items(request.get("firstAvailable")) or [request.get("exactly") or request]


def _shorten(name: object) -> str:
    return str(name)[:80]
