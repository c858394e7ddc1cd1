"""The main container of a pod template that may be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.render.names import MAIN

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields


def main_in(template: Fields) -> Fields:
    """The main container of a template, created if missing."""
    spec = template.get("spec") or {}
    template["spec"] = spec
    containers = [one for one in spec.get("containers") or () if one]
    spec["containers"] = containers
    found: Fields | None = next((one for one in containers if one.get("name") == MAIN), None)
    if found is None:
        found = {"name": MAIN}
        containers.insert(0, found)
    return found
