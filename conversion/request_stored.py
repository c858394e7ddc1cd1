"""Requests as an API server has them: with the schema's defaults, or as parts, which server-side apply converts.

A default that only one version has is never saved for the other version; the converted object gets that version's own. So reads and writes
in either version leave an object unchanged.
"""

from __future__ import annotations

from typing import Final

from .difference import are_identical
from .kind import LEFT, RIGHT, Form
from .lens.protocol import Fields
from .reading import object_of
from .request_status import PENDING

ALONE: Final[dict[str, Fields]] = {LEFT: {"enableGpuDiscovery": True, "useMocker": False}, RIGHT: {"searchStrategy": "rapid"}}
# of members that the left side has without a default
SECTIONS: Final[dict[str, Fields]] = {"modelCache": {"pvcMountPath": "/opt/model-cache"}, "workload": {"isl": 4000, "osl": 1000}}


def form(request: Fields, rightward: bool) -> Form | None:
    """How a stored request or a part of one converts; None for one that no API server has decoded yet.

    A part is a stored object without one manager's fields, as in server-side apply: it lacks defaults, or both uid and name.
    """
    metadata, spec = object_of(request.get("metadata")), object_of(request.get("spec"))
    alone = ALONE[LEFT if rightward else RIGHT]
    whole = all(spec.get(name) is not None for name in ("model", "autoApply", *alone))
    if not metadata.get("uid") and (metadata.get("name") or whole):
        return None
    said = {name: value for name, value in spec.items() if not (name in alone and are_identical(value, alone[name]))}
    if not rightward:  # server-side apply writes null for a section with only schema defaults
        said |= {name: defaults for name, defaults in SECTIONS.items() if spec.get(name, ...) is None}
    plain = {**request, "spec": said} if said != spec else request
    if not whole:
        return Form(plain, part=True)
    return Form(plain, _right if rightward else _left if request.get("status") else _left_spec)


def _right(parts: Fields) -> None:
    if type(spec := parts.get("spec")) is dict:
        sections = {name: {**defaults, **spec[name]} for name, defaults in SECTIONS.items() if type(spec.get(name)) is dict}
        parts["spec"] = {**ALONE[RIGHT], **spec, **sections}


def _left_spec(parts: Fields) -> None:
    if type(spec := parts.get("spec")) is dict:
        parts["spec"] = {**ALONE[LEFT], **spec}


def _left(parts: Fields) -> None:
    """Also add the state, which the left schema requires."""
    _left_spec(parts)
    if type(status := parts.get("status")) is dict:
        parts["status"] = {"state": PENDING, **status}
