"""Components of type lpx beside the other parts of a graph."""

from collections.abc import Iterator

from ...api.paths import Path, lookup
from ..at import At, Findings
from ..components import LPX, list_components
from ..grove import explain_off_grove
from ..review import Fields
from ..rule import GRAPH, Stage, rule
from ..words import format_words

_WHEN = "components.*.type=lpx"
_MAX_DRAFT_REPLICAS = 8  # of a pair
# what LPX components, their roles, and graphs with them must not have
_OF_COMPONENT = ("podTemplate", "topologyConstraint", "providerOverride")
_OF_GRAPH: tuple[Path, ...] = (("topologyConstraint",), ("providerOverride",), ("experimental", "kvTransferPolicy"))


def _list_lpx(spec: Fields) -> list[tuple[int, Fields]]:
    return [(index, component) for index, _, component in list_components(spec) if component.get("type") == LPX]


def _conducts(component: Fields) -> bool:
    return any(role and role.get("name") == "conductor" for role in component.get("roles") or ())


def _pair(spec: Fields) -> tuple[tuple[int, Fields], tuple[int, Fields]] | None:
    """The draft and the target of a pair: of two components the one without a conductor, and the one with it."""
    pair = sorted(_list_lpx(spec), key=lambda each: _conducts(each[1]))
    return (pair[0], pair[1]) if [_conducts(component) for _, component in pair] == [False, True] else None


@rule("DYN181", where=GRAPH, when=_WHEN, stage=Stage.SCHEDULING, needs=("grove",), since="1.6")
def lpx_requires_grove(at: At) -> Findings:
    """A graph with a component of type lpx does not run on Grove.

    Why
        LPX components can only be created as Grove objects.

    Fix
        Run the graph on Grove, or remove the {service}.

    Example
        -metadata: {annotations: {nvidia.com/enable-grove: "false"}}
         spec:
           components:  # expect
             - name: worker
               type: lpx
               {lpx roles}
    """
    if why := explain_off_grove(at):
        yield at.forbidden("components", f'must have none of type "lpx" unless Grove runs the graph: {why}')


@rule("DYN182", where=GRAPH, when=_WHEN, stage=Stage.SHAPE, since="1.6")
def lpx_conductor_required(at: At) -> Findings:
    """A component of type lpx has no conductor role, and isn't part of a pair.

    Why
        A conductor controls agents: those of its own component and, if the graph has two components of type lpx, also those of the other.

    Fix
        Add the role `conductor` with its pod template.

    Example
         spec:
           components:  # expect
        -    - name: worker
        +    - name: draft
               type: lpx
               lpx: {buildId: b}
               roles:
                 - {name: agent, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
        +    - name: target
        +      type: lpx
        +      {lpx roles}
    """
    without = [index for index, component in _list_lpx(at.value) if not _conducts(component)]
    if without and _pair(at.value) is None:
        text = format_words(
            'must have a role "conductor" in each {service} of type "lpx" but one of a pair, got {count} without', count=len(without)
        )
        yield at.forbidden("components", text)


@rule("DYN183", where=GRAPH, when=_WHEN, stage=Stage.SHAPE, since="1.6")
def lpx_pair_limit(at: At) -> Findings:
    """In a pair of LPX components, one has too many replicas, or sets a field that belongs to the other.

    Why
        The component without a conductor (the draft) may have up to eight replicas. The one with the conductor (the target) has one
        replica, and names the model.

    Fix
        Lower `replicas`, and leave `modelRef` and `minAvailable` out of the draft.

    Example
         spec:
           components:
             - name: draft
               type: lpx
        -      replicas: 9  # expect
        +      replicas: 8
               lpx: {buildId: b}
               roles:
                 - {name: agent, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
             - name: target
               type: lpx
        +      replicas: 1
               {lpx roles}
    """
    if (pair := _pair(at.value)) is None:
        return
    (index, draft), (place, target) = pair
    if (replicas := draft.get("replicas") or 0) > _MAX_DRAFT_REPLICAS:
        yield at.invalid(
            ("components", index, "replicas"), replicas, f"must be at most {_MAX_DRAFT_REPLICAS} without a conductor, got {replicas}"
        )
    if draft.get("modelRef") is not None:
        yield at.forbidden(("components", index, "modelRef"), "must be unset without a conductor: the other of the pair names the model")
    if (least := draft.get("minAvailable")) not in (None, 1):
        yield at.forbidden(("components", index, "minAvailable"), f"must be unset or 1 without a conductor, got {least}")
    if (replicas := target.get("replicas")) not in (None, 1):
        yield at.invalid(("components", place, "replicas"), replicas, f"must be 1 for the conductor of a pair, got {replicas}")


@rule("DYN184", where=GRAPH, when=_WHEN, stage=Stage.SHAPE, since="1.6")
def lpx_field_unsupported(at: At) -> Findings:
    """A component of type lpx, or its graph, has a pod template, a topology constraint, an override or a KV transfer policy.

    Why
        The roles of LPX components have their own pod templates, and the LPX scheduler places their pods.

    Fix
        Remove the field.

    Example
         {lpx worker}
        -      podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}  # expect
               roles:
                 {agent and conductor}
    """
    for path in (*_OF_GRAPH, *_beside(at.value)):
        value: object = lookup(at.value, path)
        if isinstance(value, dict):
            yield at.forbidden(path, format_words('must be unset for a {service} of type "lpx", and in its graph'))


def _beside(spec: Fields) -> Iterator[Path]:
    for index, component in _list_lpx(spec):
        place = ("components", index)
        yield from ((*place, field) for field in _OF_COMPONENT)
        yield from ((*place, "roles", step, "providerOverride") for step, _ in enumerate(component.get("roles") or ()))
