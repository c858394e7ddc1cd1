"""Everything that is made of a request for its profiling, from what the cluster holds. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.reconciler.render.children import Rendered
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.request.hardware import Cluster, filled, machines_of
from dynamo_webhooks.reconciler.request.job import JobSettings, job, output
from dynamo_webhooks.reconciler.request.legacy import hardware_asked
from dynamo_webhooks.reconciler.request.rights import rights
from dynamo_webhooks.reconciler.request.validation import Around, hindrance, invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.conversion.lens.protocol import Fields


class Surroundings(NamedTuple):
    """What a cluster holds."""

    nodes: Iterable[Fields] = ()
    claims: frozenset[str] = frozenset()  # names in the request's namespace


def children(request: Fields, around: Surroundings, settings: JobSettings) -> Rendered:
    """Account, rights, ConfigMap and Job of a request of either version; none for one that can't be profiled, and why."""
    request = convert_object(request, target("nvidia.com/v1beta1")).object
    gpus = Cluster(machines_of(around.nodes))
    asked = hardware_asked(request)
    hardware = filled(asked, gpus)
    claim = ((request.get("spec") or {}).get("modelCache") or {}).get("pvcName")
    if wrong := invalid(request, Around(gpus, claim=not claim or claim in around.claims)) or hindrance(request, hardware):
        field, separator, reason = wrong.partition(": ")
        named = separator and field.startswith(("spec.", "metadata.")) and " " not in field
        return Rendered([], [RenderError(tuple(field.split(".")), reason) if named else RenderError(("spec",), wrong)])
    made = job(request, hardware, settings)
    account = str(made["spec"]["template"]["spec"]["serviceAccountName"])
    return Rendered([*rights(request, account), output(request, hardware), made], [])
