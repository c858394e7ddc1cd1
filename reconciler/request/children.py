"""Everything that is made of a request for its profiling, from what the cluster holds. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...conversion.lens.protocol import Fields
from ...conversion.objects import convert_object, target
from ..render.children import Rendered
from ..render.errors import RenderError
from .hardware import Cluster, fill_hardware, read_node_labels
from .job import JobSettings, render_job, render_output, render_rights
from .legacy import read_requested_hardware
from .validation import claim_of, explain_invalid, hindrance


class Surroundings(NamedTuple):
    """What a cluster holds."""

    nodes: Iterable[Fields] = ()
    claims: frozenset[str] = frozenset()  # names in the request's namespace


def children(request: Fields, around: Surroundings, settings: JobSettings) -> Rendered:
    """Account, rights, ConfigMap and Job of a request of either version; none for one that can't be profiled, and why."""
    request = convert_object(request, target("nvidia.com/v1beta1")).object
    gpus = Cluster(read_node_labels(around.nodes))
    hardware = fill_hardware(read_requested_hardware(request), gpus)
    claim = claim_of(request)
    if wrong := explain_invalid(request, gpus, claim=not claim or claim in around.claims) or hindrance(request, hardware):
        field, separator, reason = wrong.partition(": ")
        named = separator and field.startswith(("spec.", "metadata.")) and " " not in field
        return Rendered([], [RenderError(tuple(field.split(".")), reason) if named else RenderError(("spec",), wrong)])
    made = render_job(request, hardware, settings)
    account = str(made["spec"]["template"]["spec"]["serviceAccountName"])
    return Rendered([*render_rights(request, account), render_output(request, hardware), made], [])
