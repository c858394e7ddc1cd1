"""The workload provider."""

from ...api.paths import Key
from ..annotations import WORKLOAD_PROVIDER
from ..at import At, Findings
from ..facts import UNKNOWN
from ..grove import list_providers
from ..review import CREATE, DELETING, UPDATE
from ..rule import GRAPH_ANNOTATIONS, GRAPH_OBJECT, Stage, rule
from ..words import quote_once


@rule("DYN115", where=GRAPH_ANNOTATIONS, when=WORKLOAD_PROVIDER, on=(CREATE, UPDATE, DELETING), stage=Stage.METADATA, since="1.5")
def workload_provider_enum(at: At) -> Findings:
    """The annotation for the workload provider has an unknown value.

    Why
        A graph runs on Grove or as single components, since operator 1.7 also as a DisaggregatedSet. The operator writes the annotation
        when the graph is created, and uses it from then on.

    Fix
        Remove the annotation, and the operator writes it; on an update, restore the old value.

    Example
         {annotations}
        -    nvidia.com/workload-provider: lws  # expect
        +    nvidia.com/workload-provider: component
    """
    if at.review.operation == CREATE and at.review.facts.grove is UNKNOWN:
        return  # the defaults overwrite it, with whatever the fact says
    value = at.value[WORKLOAD_PROVIDER]
    # what an update may not change at all, workload-provider-immutable says
    providers = list_providers(at.review.line)
    if value not in providers and (at.old or {}).get(WORKLOAD_PROVIDER) in (None, value):
        yield at.not_supported((Key(WORKLOAD_PROVIDER),), value, providers)


_PLACE = ("metadata", "annotations", Key(WORKLOAD_PROVIDER))


@rule("DYN715", where=GRAPH_OBJECT, on=(UPDATE, DELETING), needs=("operatorPrincipal",), stage=Stage.IMMUTABLE, ratchets=False, since="1.5")
def workload_provider_immutable(at: At) -> Findings:
    """An update changes the workload provider of a graph.

    Why
        Grove's objects can't be converted to those of single components, or back. A graph of an older operator has no such annotation
        until the operator adopts it.

    Fix
        Restore the old annotation, or remove it if the stored graph has none. For the other provider, create another graph.

    Example
        -metadata: {annotations: {nvidia.com/workload-provider: grove}}
        ---- # becomes
        -{annotations}
        -    nvidia.com/workload-provider: component  # expect

        +# user: system:serviceaccount:dynamo-system:operator
         spec: {backendFramework: vllm}
         --- # becomes
         {annotations}
             nvidia.com/workload-provider: grove  # expect
         spec: {backendFramework: vllm}
    """
    if at.review.old is None:
        return
    now = at.review.annotations.get(WORKLOAD_PROVIDER)
    before = (((at.old or {}).get("metadata") or {}).get("annotations") or {}).get(WORKLOAD_PROVIDER)
    if before is not None and now != before:
        seen = "none" if now is None else f'"{quote_once(now)}"'
        yield at.immutable(_PLACE, f'must stay "{quote_once(before)}" for as long as the graph lives, got {seen}', value=now)
    elif before is None and now is not None and at.fact("operatorPrincipal") not in ("", at.review.user):
        yield at.forbidden(_PLACE, f'must be added by the operator alone, got "{quote_once(now)}"')
