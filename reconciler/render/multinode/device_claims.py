"""GPUs that a pod on several nodes gets by claims of devices (DRA), counted from claim templates and device classes. Never guessed."""

import re
from typing import Final

from ....api.paths import Path
from ....conversion.lens.protocol import Fields
from ....policies.domain import read_pod
from ....policies.gpu import is_gpu
from ..errors import RenderError
from ..framework import main_of
from ..merge import object_items
from ..settings import Claims
from .role import count_gpus_per_node

_GPUS: Final = ("gpu.", "mig.")  # how names of drivers and classes of GPUs begin, as gpu.nvidia.com does
_OTHERS: Final = ("compute-domain",)  # channels between nodes
_DRIVER: Final = re.compile(r"device\.driver\s*==\s*[\"']([^\"']+)[\"']")


class _UncountableError(Exception):
    """Nobody can say how many GPUs a claim gives; the message says why."""


def count_gpus(component: Fields, path: Path, known: Claims) -> int:
    """The GPUs of a component's main container: of its resources, else of its claims. Raises: RenderError if a claim can't be counted."""
    return count_gpus_per_node(main_of(component)) or count_claimed(component, path, known)


def count_claimed(component: Fields, path: Path, known: Claims) -> int:
    """The GPUs that its claims alone give. Raises: RenderError if a claim can't be counted."""
    found = 0
    for claim, entry in _claims(component):
        try:
            found += _of_claim(entry, str(claim.get("request") or ""), known)
        except _UncountableError as error:
            text = f"must give GPUs that can be counted, since launch arguments depend on them; claim {_short(claim.get('name'))}: {error}"
            raise RenderError((*path, "podTemplate", "spec", "resourceClaims"), text) from None
    return found


def find_needed_templates(component: Fields) -> set[str]:
    """The claim templates that the launch arguments of a component on several nodes depend on."""
    if count_gpus_per_node(main_of(component)):
        return set()
    return {name for _, entry in _claims(component) if (name := str(entry.get("resourceClaimTemplateName") or ""))}


def find_needed_classes(template: Fields) -> set[str]:
    """The device classes of a claim template whose names don't say what they are."""
    every = {str(one.get("deviceClassName") or "") for request in _requests(template) for one in _alternatives(request)}
    return {name for name in every if name and not name.startswith((*_GPUS, *_OTHERS))}


def _claims(component: Fields) -> list[tuple[Fields, Fields]]:
    """The claims of the main container, each with the pod's entry of its name."""
    entries = {one.get("name"): one for one in object_items(read_pod(component).get("resourceClaims"))}
    named = object_items((main_of(component).get("resources") or {}).get("claims"))
    return [(one, entries.get(one.get("name")) or {}) for one in named]


def _of_claim(entry: Fields, request: str, known: Claims) -> int:
    name = str(entry.get("resourceClaimTemplateName") or "")
    if not name:
        raise _UncountableError("must name a template by resourceClaimTemplateName, since each node needs its own devices")
    template = known.templates.get(name, known.absent)
    if isinstance(template, str):
        raise _UncountableError(f"ResourceClaimTemplate {_short(name)} {template}")
    return sum(_of_request(one, known) for one in _requests(template) if request in ("", one.get("name")))


def _of_request(request: Fields, known: Claims) -> int:
    counts = {_of_devices(one, str(request.get("name")), known) for one in _alternatives(request)}
    if len(counts) > 1:
        raise _UncountableError(f"request {_short(request.get('name'))} must give as many GPUs by each of its alternatives")
    return counts.pop() if counts else 0


def _of_devices(asked: Fields, request: str, known: Claims) -> int:
    if asked.get("adminAccess") is True or not _gives_gpus(str(asked.get("deviceClassName") or ""), known):
        return 0
    if asked.get("allocationMode") == "All":
        raise _UncountableError(f"request {_short(request)} asks for all devices; it must ask for a count")
    count = asked.get("count")
    return count if type(count) is int else 1


def _gives_gpus(name: str, known: Claims) -> bool:
    """Whether the devices of a class are GPUs: by its name, else by the driver that its selectors ask for."""
    if name.startswith(_GPUS):
        return True
    if not name or name.startswith(_OTHERS):
        return False
    found = known.classes.get(name, known.absent)
    if isinstance(found, str):
        raise _UncountableError(f"DeviceClass {_short(name)} {found}")
    spec = found.get("spec") or {}
    if is_gpu(str(spec.get("extendedResourceName") or "")):
        return True
    texts = [str((one.get("cel") or {}).get("expression")) for one in object_items(spec.get("selectors"))]
    drivers: set[str] = {driver for text in texts for driver in _DRIVER.findall(text)}
    if len(drivers) != 1:
        raise _UncountableError(f"DeviceClass {_short(name)} must name one driver by device.driver, for GPUs to be told from others")
    return drivers.pop().startswith(_GPUS)


def _requests(template: Fields) -> list[Fields]:
    spec = (template.get("spec") or {}).get("spec") or {}
    return object_items((spec.get("devices") or {}).get("requests"))


def _alternatives(request: Fields) -> list[Fields]:
    """What a request asks for: one of several, or exactly one, which older versions write into the request itself."""
    return object_items(request.get("firstAvailable")) or [request.get("exactly") or request]


def _short(name: object) -> str:
    return str(name)[:80]
