"""Requests as an API server has them: with the schema's defaults, or as parts, which server-side apply converts.

A default that only one version has says nothing: it is never kept for the other version, and the converted object gets that one's own. So
an object that is read and written in either version, as often as you like, stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.conversion.difference import identical
from dynamo_webhooks.conversion.kind import LEFT, RIGHT, Form
from dynamo_webhooks.conversion.reading import object_of
from dynamo_webhooks.conversion.request_status import PENDING

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields

ALONE: Final[dict[str, Fields]] = {LEFT: {"enableGpuDiscovery": True, "useMocker": False}, RIGHT: {"searchStrategy": "rapid"}}
# of members that the left side has as well, but without a default
SECTIONS: Final[dict[str, Fields]] = {"modelCache": {"pvcMountPath": "/opt/model-cache"}, "workload": {"isl": 4000, "osl": 1000}}


def form(request: Fields, rightward: bool) -> Form | None:
    """How a stored request or a part of one converts; None for one that somebody wrote, and that no API server has decoded yet.

    A part is what server-side apply leaves of a stored object without one manager's fields: it lacks defaults, or has neither uid nor name.
    """
    metadata, spec = object_of(request.get("metadata")), object_of(request.get("spec"))
    alone = ALONE[LEFT if rightward else RIGHT]
    whole = all(spec.get(name) is not None for name in ("model", "autoApply", *alone))
    if not metadata.get("uid") and (metadata.get("name") or whole):
        return None
    said = {name: value for name, value in spec.items() if not (name in alone and identical(value, alone[name]))}
    if not rightward:  # server-side apply makes null of a section whose members are all the schema's
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
    """Says the state, too, without which no left status is valid."""
    _left_spec(parts)
    if type(status := parts.get("status")) is dict:
        parts["status"] = {"state": PENDING, **status}
