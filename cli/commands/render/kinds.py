"""Which kinds have children, and what makes them: one line a kind. Reading input and writing children are elsewhere."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from ....api.operator.configuration import OperatorConfiguration
from ....api.operator.controllers import LABELLED, NONE
from ....api.paths import lookup
from ....conversion.lens.protocol import Fields
from ....reconciler.checkpoint.restore_condition import explain_missing_claim, observe_offline
from ....reconciler.common.resources import PULL_SECRET
from ....reconciler.render.children import CHECKPOINT, COMPONENT, GRAPH, RenderedChildren, goes_to_grove, render
from ....reconciler.render.errors import RenderError
from ....reconciler.render.generation import list_restarts
from ....reconciler.render.gms import find_refusal
from ....reconciler.render.graph import read_graph
from ....reconciler.render.grove.clique_set import CLIQUE_SETS_DEFINITION, does_definition_pack_by_name
from ....reconciler.render.kv_transfer import find_domain_key, read_topology, with_label_key
from ....reconciler.render.merge import string_map
from ....reconciler.render.names import COMPONENT as COMPONENT_LABEL
from ....reconciler.render.object_index import ObjectIndex
from ....reconciler.render.pod.registries import index_secrets, list_addresses
from ....reconciler.render.settings import ClaimDependencies, Settings

REQUEST: Final = "DynamoGraphDeploymentRequest"
OWN_IMAGE: Final = "dynamo-webhooks"  # as manifests/base names it; in a cluster it is that of the reconciler


class OperatorSettings(NamedTuple):
    """Settings of the operator, overridden by facts about the cluster, and its whole configuration."""

    settings: Settings
    configuration: Callable[[], OperatorConfiguration]  # read when a kind asks for it: graphs are content with settings
    restarted: bool = False  # whether graphs have completed the sequential restart that they ask for


Children: TypeAlias = "Callable[[Fields, ObjectIndex, OperatorSettings], RenderedChildren]"


def render_children(obj: Fields, cluster_objects: ObjectIndex, operator: OperatorSettings) -> RenderedChildren:
    """The children of an object that its controller would create, given the cluster's objects; none for a kind without children.

    Costs the object's size plus that of all objects of the kinds that its row reads.
    """
    row = ROWS.get(str(obj.get("kind")))
    return row(obj, cluster_objects, operator) if row is not None else RenderedChildren([], [])


def _workload(obj: Fields, cluster_objects: ObjectIndex, operator: OperatorSettings) -> RenderedChildren:
    """Pods get the pull secrets of the input that the configuration opts into, and are restored from its checkpoints.

    A topology of Grove that a graph names is one of the input, and so are the templates by which GPUs of claims are counted, and the
    definition of PodCliqueSets, by which these are constrained; without one it is that of the line.
    """
    obj = _placed(obj, cluster_objects, operator.settings)
    namespace = str(obj["metadata"]["namespace"])
    listed = (cluster_objects.all("ResourceClaimTemplate", namespace), cluster_objects.all("DeviceClass"))
    templates, classes = ({item["metadata"]["name"]: item for item in objects} for objects in listed)
    definitions = (
        definition
        for definition in cluster_objects.all("CustomResourceDefinition")
        if definition["metadata"]["name"] == CLIQUE_SETS_DEFINITION
    )
    packing = does_definition_pack_by_name(next(definitions, None))
    pull_secrets, claims = _pull_secrets(obj, cluster_objects, operator), ClaimDependencies(templates, classes)
    settings = operator.settings._replace(pull_secrets=pull_secrets, claims=claims, explicit_packing=packing)
    try:
        observed = observe_offline(obj, cluster_objects, settings)
        restarts = list_restarts(read_graph(obj, settings.line)) if operator.restarted and obj.get("kind") == GRAPH else []
    except RenderError as error:
        return RenderedChildren([], [error])
    made = render(obj, settings, observed._replace(restarted=frozenset(restarts)))
    return made._replace(children=_in_order(made.children, restarts)) if restarts else made


def _in_order(children: list[Fields], components: list[str]) -> list[Fields]:
    """The children, and the cliques of a set, with those of components that restart last, in that order."""
    ranks = {name: number for number, name in enumerate(components)}

    def rank(labelled: Fields) -> int:
        return ranks.get((labelled.get("labels") or {}).get(COMPONENT_LABEL, ""), -1)

    for child in children:
        for clique_set in (child["spec"]["template"],) if child["kind"] == "PodCliqueSet" else ():
            clique_set["cliques"].sort(key=rank)
    return sorted(children, key=lambda child: rank(child["metadata"]))


def _placed(obj: Fields, cluster_objects: ObjectIndex, settings: Settings) -> Fields:
    name, domain = read_topology(obj) if obj.get("kind") == GRAPH else ("", "")
    if not name or not goes_to_grove(string_map(obj["metadata"].get("annotations")), settings):
        return obj
    key = next(
        (
            find_domain_key(binding, domain)
            for binding in cluster_objects.all("ClusterTopologyBinding")
            if binding["metadata"]["name"] == name
        ),
        "",
    )
    return with_label_key(obj, key) if key else obj


def _pull_secrets(obj: Fields, cluster_objects: ObjectIndex, operator: OperatorSettings) -> Mapping[str, tuple[str, ...]]:
    namespace = str(obj["metadata"]["namespace"])
    secrets = cluster_objects.all("Secret", namespace)
    how = operator.configuration().secrets if secrets else None
    if how is None or how.pull == NONE or namespace not in how.namespaces:
        return operator.settings.pull_secrets
    read = (secret for secret in secrets if how.pull != LABELLED or lookup(secret, ("metadata", "labels", PULL_SECRET)) == "true")
    return index_secrets((secret["metadata"]["name"], list_addresses(secret) or ()) for secret in read)


def _snapshot(obj: Fields, cluster_objects: ObjectIndex, operator: OperatorSettings) -> RenderedChildren:
    """The Job of a checkpoint, and its claim unless the input holds that; a claim that is not to be made must be held."""
    refusal = find_refusal(obj, gate=operator.settings.checkpoints.gate)
    if refusal is not None:
        return RenderedChildren([], [RenderError(("spec", "gpuMemoryService"), refusal[1].removeprefix("spec.gpuMemoryService: "))])
    made = render(obj, operator.settings)
    namespace = str(obj["metadata"]["namespace"])
    if not made.problems and (text := explain_missing_claim(cluster_objects, operator.settings.checkpoints, namespace)):
        return RenderedChildren([], [RenderError((), text)])
    return made._replace(
        children=[child for child in made.children if cluster_objects.get(child["kind"], namespace, child["metadata"]["name"]) is None]
    )


def _profiled(obj: Fields, cluster_objects: ObjectIndex, operator: OperatorSettings) -> RenderedChildren:
    """The profiling Job and what belongs to it; Nodes and claims are those of the input."""
    from ....reconciler.request.job import with_copier
    from ....reconciler.request.validation import children

    how = operator.configuration()
    namespace = str(obj["metadata"]["namespace"])
    claims = frozenset(claim["metadata"]["name"] for claim in cluster_objects.all("PersistentVolumeClaim", namespace))
    nodes = cluster_objects.all("Node") if how.gpu.discovery_enabled else []
    return children(obj, nodes, claims, with_copier(how, how.requests.copier_image or OWN_IMAGE))


ROWS: Final[Mapping[str, Children]] = {
    GRAPH: _workload,
    COMPONENT: _workload,
    CHECKPOINT: _snapshot,
    REQUEST: _profiled,
}
