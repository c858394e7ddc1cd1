"""All defaults."""

from collections.abc import Iterator

from ...api.paths import Key
from ..at import At
from ..component.roles import count_roles
from ..domain import GROVE, LPX, ORIGIN_VERSION, WORKLOAD_PROVIDER, choose_provider, default_provider, is_line_1_4, is_line_1_6
from ..finding import Edit
from ..provider_override import WHEN, list_overrides
from ..review import CREATE, UPDATE
from ..rule import COMPONENT, DCD, DGDR, GRAPH, GRAPH_COMPONENT, GRAPH_OBJECT, default, differs
from ..semver import canonical


@default("DYND03", where={DCD: ""}, on=(CREATE,))
def mut_dcd_name(at: At) -> Iterator[Edit]:
    """A standalone component gets the name of its object.

    Why
        The name inside the spec becomes part of labels and Service names; it differs from the object's name only if you set it. An object
        with `generateName` has no name yet, so nothing is copied.

    Before
        metadata: {name: router}
        spec: {name: ""}

    After
        metadata: {name: router}
        spec: {name: router}
    """
    name = at.get("metadata.name")
    if name and not at.get("spec.name"):
        yield at.set("spec.name", name)


_PATH = ("metadata", "annotations", Key(ORIGIN_VERSION))


@differs(("Q-24",), "the stored annotation is restored: graphs without it are treated differently")
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
    new, said = at.review.operation == CREATE, at.get(_PATH)
    if said is not None and not (new and is_line_1_6(at.review)):
        return
    if (kept := at.fact("operatorVersion") if new else _stored(at, ORIGIN_VERSION)) not in (None, said):
        yield at.set(_PATH, kept)


def _stored(at: At, name: str) -> str | None:
    found = (((at.old or {}).get("metadata") or {}).get("annotations") or {}).get(name)
    return None if found is None else str(found)


@differs(("Q-40",), "the default applies to updates too; under an adapter the stored number is kept, because 1 would scale down")
@default("DYND01", where=GRAPH_COMPONENT)
def mut_dgd_replicas(at: At) -> Iterator[Edit]:
    """A component without `replicas` gets one replica.

    Why
        Users, adapters and dashboards read the effective number from the object. An explicit 0 stays. If an update omits `replicas` of a
        component with a scaling adapter, the webhook restores the number that the adapter wrote last.

    Before
        spec: {components: [{name: parked, replicas: 0}, {name: worker}]}

        spec: {components: [{name: worker, replicas: 3, scalingAdapter: {}}]}
        --- # becomes
        spec: {components: [{name: worker, scalingAdapter: {}}]}

    After
        spec: {components: [{name: parked, replicas: 0}, {name: worker, replicas: 1}]}

        spec: {components: [{name: worker, replicas: 3, scalingAdapter: {}}]}
    """
    if at.value.get("replicas") is None and at.value.get("type") != LPX:
        yield at.set("replicas", _kept(at))


def _kept(at: At) -> int:
    """The number of the stored service where an adapter owns it, else 1."""
    old = at.old if at.review.operation == UPDATE else None
    if old is None or (at.value.get("scalingAdapter") is None and old.get("scalingAdapter") is None):
        return 1
    before = old.get("replicas")
    return 1 if before is None else int(before)


_REPOSITORY = "nvcr.io/nvidia/ai-dynamo/dynamo-planner"


@differs(("G-27",), "a version with build metadata makes an invalid image tag")
@default("DYND04", where={DGDR: ""}, on=(CREATE,), needs=("operatorVersion",))
def mut_dgdr_image(at: At) -> Iterator[Edit]:
    """A request without an image gets the profiler image of the operator's version.

    Why
        Profiler and operator are released together. Build metadata of the version (`+...`) is left out, because a tag can't contain a
        plus. Since operator 1.4, an administrator can name another image with the fact `dgdrDefaultImage`.

    Before
        # facts: {operatorVersion: 1.2.0+build.7}
        spec: {model: m}

        # facts: {operatorVersion: 1.5.0, dgdrDefaultImage: "example/planner:1.5.0"}
        spec: {model: m}

    After
        spec: {model: m, image: "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.2.0"}

        spec: {model: m, image: "example/planner:1.5.0"}
    """
    if at.get("spec.image"):
        return
    chosen = at.review.facts.dgdrDefaultImage
    if is_line_1_4(at.review) and isinstance(chosen, str) and chosen:
        yield at.set("spec.image", chosen)
        return
    version = at.fact("operatorVersion")
    if is_line_1_4(at.review):
        version = canonical(version)
    tag = version.partition("+")[0]
    if tag not in ("", "unknown"):
        yield at.set("spec.image", f"{_REPOSITORY}:{tag}")


@differs((), "the stored default is restored on every line, so that a file that omits it can replace the graph")
@default("DYND07", where=GRAPH_COMPONENT, needs=("grove",), since="1.3")
def mut_min_available(at: At) -> Iterator[Edit]:
    """A component on Grove without `minAvailable` gets 1.

    Why
        Grove starts this number of replicas together; its own default is 1. The number can't be changed later. If an update omits the
        default, as a replacement by the same file does, it is restored.

    Before
        # facts: {operatorLine: "1.4"}
        spec: {components: [{name: worker, replicas: 2}]}

        spec: {components: [{name: worker, replicas: 2, minAvailable: 1}]}
        --- # becomes
        spec: {components: [{name: worker, replicas: 3}]}

    After
        spec: {components: [{name: worker, replicas: 2, minAvailable: 1}]}

        spec: {components: [{name: worker, replicas: 3, minAvailable: 1}]}
    """
    if at.value.get("minAvailable") is not None:
        return
    new, kept = at.review.operation == CREATE, (at.old or {}).get("minAvailable") == 1
    if (kept and not new) or (is_line_1_4(at.review) and default_provider(at) == GROVE):
        yield at.set("minAvailable", 1)


@default("DYND09", where=COMPONENT, when="roles", since="1.6")
def mut_role_replicas(at: At) -> Iterator[Edit]:
    """A role of a component on several nodes gets its number of pods.

    Why
        Users read the effective number from the object: one leader, and a worker on each other node.

    Before
        spec: {components: [{name: w, type: worker, multinode: {nodeCount: 4}, roles: [{name: leader}, {name: worker}]}]}

    After
        spec:
          components:
            - name: w
              type: worker
              multinode: {nodeCount: 4}
              roles: [{name: leader, replicas: 1}, {name: worker, replicas: 3}]
    """
    for index, role, wanted in count_roles(at.value):
        if role.get("replicas") is None:
            yield at.set(("roles", index, "replicas"), wanted)


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
              providerOverride:
                apiVersion: grove.io/v1alpha1
                target: PodCliqueTemplateSpec
                value: {topologyConstraint: {packDomain: rack}}
    """
    empty = [found for found in list_overrides(at.value) if found.target and not found.block.get("target")]
    if empty and default_provider(at) == GROVE:
        for found in empty:
            yield at.set((*found.path, "target"), found.target)


@differs((), "the stored annotation is restored, so that a file that omits it can replace the graph; since 1.5 the Go operator refuses it")
@default("DYND06", where=GRAPH_OBJECT, on=(CREATE, UPDATE), needs=("grove",), since="1.5")
def mut_workload_provider(at: At) -> Iterator[Edit]:
    """A new graph gets an annotation that records whether it runs on Grove.

    Why
        A graph stays on Grove, or off it, for its whole life, whatever is installed or disabled later. A create replaces an existing
        annotation; to keep a graph off Grove, set `nvidia.com/enable-grove: "false"`. If an update omits the annotation, as a replacement
        by the same file does, it is restored.

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
