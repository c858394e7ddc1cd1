"""Defaults of graphs."""

from collections.abc import Iterator

from ...api.paths import Key
from ..annotations import ORIGIN_VERSION, WORKLOAD_PROVIDER
from ..at import At
from ..finding import Edit
from ..grove import GROVE, choose_provider, default_provider
from ..provider_override import WHEN, list_overrides
from ..review import CREATE, UPDATE, is_line_1_6
from ..rule import GRAPH, GRAPH_OBJECT, default, differs

_PATH = ("metadata", "annotations", Key(ORIGIN_VERSION))


@differs("the stored annotation is restored: graphs without it are treated differently")
@default("DYND02", where=GRAPH_OBJECT, on=(CREATE, UPDATE), needs=("operatorVersion",))
def mut_dgd_origin_version(at: At) -> Iterator[Edit]:
    """A new graph gets an annotation with the version of the operator that created it.

    Why
        Later versions treat a graph as its origin version did, so that an upgrade of the operator restarts no pods. If an update drops the
        annotation, the stored value is restored. Since operator 1.6, a create replaces an existing value.

    Before
        spec: {components: [{name: worker, replicas: 1}]}

        # facts: {operatorVersion: 1.6.0}
        metadata: {annotations: {nvidia.com/dynamo-operator-origin-version: 0.9.0}}

        metadata: {annotations: {nvidia.com/dynamo-operator-origin-version: 1.0.0}}
        --- # becomes
        metadata: {annotations: {team: search}}

    After
        metadata: {annotations: {nvidia.com/dynamo-operator-origin-version: 1.2.0}}
        spec: {components: [{name: worker, replicas: 1}]}

        metadata: {annotations: {nvidia.com/dynamo-operator-origin-version: 1.6.0}}

        metadata: {annotations: {team: search, nvidia.com/dynamo-operator-origin-version: 1.0.0}}
    """
    new, written = at.review.operation == CREATE, at.get(_PATH)
    if written is not None and not (new and is_line_1_6(at.review)):
        return
    if (kept := at.fact("operatorVersion") if new else _stored(at, ORIGIN_VERSION)) not in (None, written):
        yield at.set(_PATH, kept)


def _stored(at: At, name: str) -> str | None:
    value = (((at.old or {}).get("metadata") or {}).get("annotations") or {}).get(name)
    return None if value is None else str(value)


@default("DYND08", where=GRAPH, when=WHEN, needs=("grove",), since="1.5")
def mut_provider_override_target(at: At) -> Iterator[Edit]:
    """An override for Grove gets the default target for its position.

    Why
        The target depends on the override's position and the component's layout.

    Before
        spec:
          components:
            - {name: worker, providerOverride: {apiVersion: grove.io/v1alpha1, value: {topologyConstraint: {packDomain: rack}}}}

    After
        spec:
          components:
            - name: worker
              {override of a clique}
                value: {topologyConstraint: {packDomain: rack}}
    """
    empty = [candidate for candidate in list_overrides(at.value) if candidate.target and not candidate.block.get("target")]
    if empty and default_provider(at) == GROVE:
        for override in empty:
            yield at.set((*override.path, "target"), override.target)


@differs("the stored annotation is restored, so that a file that omits it can replace the graph; since 1.5 the Go operator refuses it")
@default("DYND06", where=GRAPH_OBJECT, on=(CREATE, UPDATE), needs=("grove",), since="1.5")
def mut_workload_provider(at: At) -> Iterator[Edit]:
    """A new graph gets an annotation that records whether it runs on Grove.

    Why
        A graph stays on Grove, or off it, for its whole life, whatever is installed or disabled later. A create replaces an existing
        annotation; to keep a graph off Grove, set `nvidia.com/enable-grove: "false"`. Since operator 1.7, a graph off Grove with
        `nvidia.com/enable-disaggregatedset: "true"` becomes a DisaggregatedSet of LeaderWorkerSet. If an update omits the annotation, as a
        replacement by the same file does, it is restored.

    Before
        metadata: {annotations: {nvidia.com/enable-grove: "false", nvidia.com/workload-provider: grove}}

        metadata: {annotations: {nvidia.com/workload-provider: grove}}
        --- # becomes
        metadata: {annotations: {team: search}}

    After
        metadata: {annotations: {nvidia.com/enable-grove: "false", nvidia.com/workload-provider: component}}

        metadata: {annotations: {team: search, nvidia.com/workload-provider: grove}}
    """
    if at.review.operation == UPDATE:
        if (kept := _stored(at, WORKLOAD_PROVIDER)) is not None and WORKLOAD_PROVIDER not in at.review.annotations:
            yield at.set(("metadata", "annotations", Key(WORKLOAD_PROVIDER)), kept)
    elif (decided := choose_provider(at)) != at.review.annotations.get(WORKLOAD_PROVIDER):
        yield at.set(("metadata", "annotations", Key(WORKLOAD_PROVIDER)), decided)
