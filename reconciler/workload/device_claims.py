"""Reads what claims of devices depend on, for components on several nodes whose main container names no GPUs itself: one read an object."""

from __future__ import annotations

from collections.abc import Iterable

from ...kube.errors import ForbiddenError, NotServedError
from ...kube.protocol import Node
from ...kube.resources import CLAIM_TEMPLATES, DEVICE_CLASSES, Resource
from ..common.problems import explain_missing_permission
from ..engine.work import Work
from ..render.multinode.device_claims import find_needed_classes, find_needed_templates
from ..render.settings import Claims


async def read_claims(work: Work, components: Iterable[Node], namespace: str) -> Claims:
    """The claim templates and device classes by which the GPUs of components are counted. Raises: ApiError."""
    names = {name for one in components for name in find_needed_templates(one)}
    templates = {name: await _read(work, CLAIM_TEMPLATES, name, namespace) for name in sorted(names)}
    classes = {name for one in templates.values() if isinstance(one, dict) for name in find_needed_classes(one)}
    return Claims(templates, {name: await _read(work, DEVICE_CLASSES, name) for name in sorted(classes)})


async def _read(work: Work, resource: Resource, name: str, namespace: str = "") -> Node | str:
    try:
        found = await work.cluster.get(resource, name, namespace)
    except ForbiddenError as error:
        return f"can't be read: the reconciler lacks a permission: {error.message}; {explain_missing_permission('orchestrators')}"
    except NotServedError:
        return f"can't be read: the cluster does not serve {resource.api_version}"
    return f"is not in the {'namespace' if namespace else 'cluster'}; create it" if found is None else found
