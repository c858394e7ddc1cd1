"""Which kinds have children, and what makes them: one line a kind. Reading input and writing children are elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from dynamo_webhooks.api.operator.settings import LABELLED, NONE
from dynamo_webhooks.reconciler.checkpoint.held import lacking_claim, observed_in
from dynamo_webhooks.reconciler.checkpoint.shared_gpus import refusal_of
from dynamo_webhooks.reconciler.loop.marks import PULL_SECRET
from dynamo_webhooks.reconciler.render.children import CHECKPOINT, COMPONENT, GRAPH, Rendered, goes_to_grove, render
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.kv_transfer import asked_topology, key_in, with_label_key
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.pod.registries import addresses, index

if TYPE_CHECKING:
    from dynamo_webhooks.api.operator.settings import ReconcilerSettings
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.held import Held
    from dynamo_webhooks.reconciler.render.settings import Settings


REQUEST: Final = "DynamoGraphDeploymentRequest"
OWN_IMAGE: Final = "dynamo-webhooks"  # as manifests/base names it; in a cluster it is that of the reconciler


class Operator(NamedTuple):
    """What the operator is set to: settings, in which facts about the cluster have the last word, and its whole configuration."""

    settings: Settings
    configuration: Callable[[], ReconcilerSettings]  # read when a kind asks for it: graphs are content with settings


Children: TypeAlias = "Callable[[Fields, Held, Operator], Rendered]"


def children(obj: Fields, held: Held, operator: Operator) -> Rendered:
    """The children of an object, as its controller would make them of what the cluster holds; none of a kind that has none.

    Costs as much as the object and what is held of the kinds that its row reads.
    """
    row = ROWS.get(str(obj.get("kind")))
    return row(obj, held, operator) if row is not None else Rendered([], [])


def _workload(obj: Fields, held: Held, operator: Operator) -> Rendered:
    """Pods get the pull secrets of the input that the configuration opts into, and are restored from its checkpoints.

    A topology of Grove that a graph names is one of the input.
    """
    obj = _placed(obj, held, operator.settings)
    settings = operator.settings._replace(pull_secrets=_pull_secrets(obj, held, operator))
    try:
        observed = observed_in(obj, held, settings)
    except RenderError as error:
        return Rendered([], [error])
    return render(obj, settings, observed)


def _placed(obj: Fields, held: Held, settings: Settings) -> Fields:
    name, domain = asked_topology(obj) if obj.get("kind") == GRAPH else ("", "")
    if not name or not goes_to_grove(texts(obj["metadata"].get("annotations")), settings):
        return obj
    found = (key_in(one, domain) for one in held.all("ClusterTopologyBinding") if one["metadata"]["name"] == name)
    key = next(found, "")
    return with_label_key(obj, key) if key else obj


def _pull_secrets(obj: Fields, held: Held, operator: Operator) -> Mapping[str, tuple[str, ...]]:
    namespace = str(obj["metadata"]["namespace"])
    secrets = held.all("Secret", namespace)
    how = operator.configuration().secrets if secrets else None
    if how is None or how.pull == NONE or namespace not in how.namespaces:
        return operator.settings.pull_secrets
    read = (one for one in secrets if how.pull != LABELLED or _label(one) == "true")
    return index((one["metadata"]["name"], addresses(one) or ()) for one in read)


def _label(secret: Fields) -> object:
    labels = secret["metadata"].get("labels")
    return labels.get(PULL_SECRET) if isinstance(labels, dict) else None


def _snapshot(obj: Fields, held: Held, operator: Operator) -> Rendered:
    """The Job of a checkpoint, and its claim unless the input holds that; a claim that is not to be made must be held."""
    refusal = refusal_of(obj, gate=operator.settings.checkpoints.gate)
    if refusal is not None:
        return Rendered([], [RenderError(("spec", "gpuMemoryService"), refusal.message.removeprefix("spec.gpuMemoryService: "))])
    made = render(obj, operator.settings)
    namespace = str(obj["metadata"]["namespace"])
    if not made.problems and (text := lacking_claim(held, operator.settings.checkpoints, namespace)):
        return Rendered([], [RenderError((), text)])
    return made._replace(children=[one for one in made.children if held.get(one["kind"], namespace, one["metadata"]["name"]) is None])


def _profiled(obj: Fields, held: Held, operator: Operator) -> Rendered:
    """The profiling Job and what belongs to it; Nodes and claims are those of the input."""
    from dynamo_webhooks.reconciler.request.children import Surroundings, children
    from dynamo_webhooks.reconciler.request.configured import settings_of

    how = operator.configuration()
    namespace = str(obj["metadata"]["namespace"])
    claims = frozenset(one["metadata"]["name"] for one in held.all("PersistentVolumeClaim", namespace))
    nodes = held.all("Node") if how.features.gpu_discovery else []
    settings = settings_of(how)
    return children(obj, Surroundings(nodes, claims), settings._replace(copier_image=settings.copier_image or OWN_IMAGE))


ROWS: Final[Mapping[str, Children]] = {
    GRAPH: _workload,
    COMPONENT: _workload,
    CHECKPOINT: _snapshot,
    REQUEST: _profiled,
}
