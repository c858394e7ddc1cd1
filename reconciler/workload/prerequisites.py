"""Objects that workloads need and the reconciler doesn't make: claims of volumes and devices, the pods' queue. One call each in a pass."""

from collections.abc import Iterable, Sequence

from ...kube.capability import VOLCANO as SERVED
from ...kube.capability import Presence
from ...kube.errors import ApiError, ForbiddenError, NotServedError
from ...kube.protocol import Node
from ...kube.resources import CLAIM_TEMPLATES, CLAIMS, DEVICE_CLASSES, QUEUES, Resource
from ...policies.no_effect import KAI_QUEUE
from ..common.conditions import is_acted_on
from ..common.problems import Problem, explain_missing_permission, problem_of_error
from ..common.resources import CLIQUES
from ..engine.context import Context
from ..render.checkpoint import storage
from ..render.graph import Graph
from ..render.grove.member import QUEUE, VOLCANO
from ..render.multinode.gpus import find_needed_classes, find_needed_templates
from ..render.settings import CheckpointSettings, ClaimDependencies


async def check_claims(context: Context, graph: Graph, problems: list[Problem]) -> None:
    """Claims that a graph names without asking for them must be there."""
    for entry in graph.claims:
        name = str(entry.get("name") or "")
        if not name or entry.get("create") is True:
            continue
        try:
            if await context.cluster.get(CLAIMS, name, graph.namespace) is None:
                text = f"PersistentVolumeClaim {name} must exist, since create is not true; make it, or set create"
                problems.append(Problem(text, "not_found"))
        except ApiError as error:
            problems.append(problem_of_error(error, f"PersistentVolumeClaim {name}"))


async def check_storage(context: Context, settings: CheckpointSettings, namespace: str) -> str:
    """The text about a configured claim for snapshots that isn't there nor to be made. Raises: ApiError, RenderError."""
    kept = storage.find_configured_storage(settings)
    if kept is None or settings.pvc.create or await context.cluster.get(CLAIMS, kept.claim, namespace) is not None:
        return ""
    return storage.explain_missing(kept, namespace)


async def check_scheduler(context: Context, graph: Graph, children: Sequence[Node], problems: list[Problem]) -> None:
    """The scheduler of pods on Grove must be there, and the queue from which KAI takes them, where it may be read."""
    cliques = [clique for child in children if child["kind"] == CLIQUES for clique in child["spec"]["template"]["cliques"]]
    volcano = any(clique["spec"]["podSpec"].get("schedulerName") == VOLCANO for clique in cliques)
    if volcano and context.presence(SERVED) is Presence.ABSENT and not is_acted_on(graph.object):
        text = "Volcano must be installed to place pods: scheduling.volcano.sh is not served; install it, or choose another scheduler"
        problems.append(Problem(text, "not_found"))
    for name in sorted({clique["labels"][QUEUE] for clique in cliques if QUEUE in clique["labels"]}):
        try:
            if await context.cluster.get(QUEUES, name) is None:
                remedy = f"make it, or name another by the annotation {KAI_QUEUE}"
                problems.append(Problem(f"Queue {name} must exist for the KAI scheduler to place pods; {remedy}", "not_found"))
        except (ForbiddenError, NotServedError):
            continue
        except ApiError as error:
            problems.append(problem_of_error(error, f"Queue {name}"))


async def read_claims(context: Context, components: Iterable[Node], namespace: str) -> ClaimDependencies:
    """The claim templates and device classes by which the GPUs of components are counted. Raises: ApiError."""
    names = {name for component in components for name in find_needed_templates(component)}
    templates = {name: await _read(context, CLAIM_TEMPLATES, name, namespace) for name in sorted(names)}
    classes = {name for template in templates.values() if isinstance(template, dict) for name in find_needed_classes(template)}
    return ClaimDependencies(templates, {name: await _read(context, DEVICE_CLASSES, name) for name in sorted(classes)})


async def _read(context: Context, resource: Resource, name: str, namespace: str = "") -> Node | str:
    try:
        obj = await context.cluster.get(resource, name, namespace)
    except ForbiddenError as error:
        return f"can't be read: the reconciler lacks a permission: {error.message}; {explain_missing_permission('orchestrators')}"
    except NotServedError:
        return f"can't be read: the cluster does not serve {resource.api_version}"
    return f"is not in the {'namespace' if namespace else 'cluster'}; create it" if obj is None else obj
