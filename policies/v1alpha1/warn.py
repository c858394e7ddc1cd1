"""Fields of a component that are deprecated or have no effect, and types that the schema of v1beta1 refuses."""

from typing import Final

from ..at import At
from ..domain import LPX, is_line_1_6, owning_graph, quote_once
from ..finding import Mend
from ..review import Review
from ..rule import COMPONENT_V1ALPHA1, DCD_V1ALPHA1, Hits, Stage, differs, rule


@rule("DYN902", where=COMPONENT_V1ALPHA1, removes=True, when="autoscaling", stage=Stage.ADVICE)
def warn_autoscaling(at: At) -> Hits:
    """A component has autoscaling settings, which are ignored.

    Why
        The block is left over from older versions: nothing scales by it, not even an empty one.

    Fix
        Remove `autoscaling`, and enable `scalingAdapter` to scale with a HorizontalPodAutoscaler, KEDA or the planner.

    Example
        spec:
          services:
    bad     worker:
    bad       componentType: worker
    bad       autoscaling: {enabled: true, minReplicas: 1, maxReplicas: 4}  # expect
    ok      worker: {componentType: worker, scalingAdapter: {enabled: true}}
    """
    yield at.warning("autoscaling", "is deprecated and ignored: remove it, use scalingAdapter")


@differs(("G-10",), "1.2 silently ignores a second flagged mount", lacking=True)
@rule("DYN909", where=COMPONENT_V1ALPHA1, when="volumeMounts", stage=Stage.ADVICE)
def warn_compilation_cache_first_only(at: At) -> Hits:
    """A component flags several mounts as its compilation cache.

    Why
        An engine has one cache, and only the first flagged mount is made that.

    Fix
        Keep the flag `useAsCompilationCache` on one mount, and give the others a `mountPoint`.

    Example
        spec:
          services:
            worker:
              componentType: worker
              volumeMounts:
                - {name: kernels, mountPoint: /kernels, useAsCompilationCache: true}
    bad         - {name: more, mountPoint: /more, useAsCompilationCache: true}  # expect
    ok          - {name: models, mountPoint: /models}
    """
    mounts = at.value["volumeMounts"]
    if len(mounts) < 2:
        return
    flagged = [index for index, mount in enumerate(mounts) if mount and mount.get("useAsCompilationCache")]
    for index in flagged[1:]:
        text = f"is ignored: only the first, volumeMounts[{flagged[0]}], is the cache"
        yield at.warning(("volumeMounts", index, "useAsCompilationCache"), text)


# `default` has no rules of its own, but is a word of the operator that it accepts
_KNOWN: Final = frozenset(("", "frontend", "worker", "prefill", "decode", "planner", "epp", "default"))


@differs(("Q-16",), "a misspelled type escapes the rules and defaults of the intended type", lacking=True)
@rule("DYN907", where=COMPONENT_V1ALPHA1, when="componentType", stage=Stage.ADVICE)
def warn_component_type_unknown(at: At) -> Hits:
    """A component's type is none that the operator knows.

    Why
        The type decides on command, ports, probes and which rules apply. It is compared letter by letter, so `Worker` or `EPP` is a
        custom type to which nothing of that applies.

    Fix
        Write frontend, worker, prefill, decode, planner or epp, or leave the type out if a plain component is meant.

    Example
        spec:
          services:
    bad     worker:
    bad       componentType: Worker  # expect
    ok      worker: {componentType: worker}
    ok      other: {componentType: ""}
    """
    kind = at.value["componentType"]
    if kind not in _KNOWN and not (kind == LPX and is_line_1_6(at.review)):
        meant = kind.strip().lower()
        fix = f"write {meant}" if meant in _KNOWN and meant else ""
        yield at.warning("componentType", f'is no type that the operator knows, got "{kind}"', fix=fix, mend=Mend(meant) if fix else None)


_SHARED: Final = "dynamo"  # the namespace of all components with globalDynamoNamespace


@rule("DYN901", where=COMPONENT_V1ALPHA1, removes=True, when="dynamoNamespace", stage=Stage.ADVICE)
def warn_dynamo_namespace(at: At) -> Hits:
    """A component sets its Dynamo namespace, which is ignored.

    Why
        Components of one graph must find each other, so the namespace follows from the graph's own namespace and name, or is the shared one
        where `globalDynamoNamespace` is true.

    Fix
        Remove `dynamoNamespace`.

    Example
        spec:
          services:
    bad     worker:
    bad       componentType: worker
    bad       dynamoNamespace: mine  # expect
    ok      worker: {componentType: worker, globalDynamoNamespace: true}
    """
    written = at.value["dynamoNamespace"]
    if written:
        used = _SHARED if at.value.get("globalDynamoNamespace") is True else _of_graph(at.review)
        yield at.warning("dynamoNamespace", f'is deprecated and ignored: remove it; "{used}" is used, not "{written}"')


def _of_graph(review: Review) -> str:
    """The namespace of the graph's components; a file need not say in which namespace it is applied, or under which generated name."""
    graph = (owning_graph(review) or "") if review.kind == DCD_V1ALPHA1 else review.metadata.get("name") or "<name>"
    return f"{quote_once(review.metadata.get('namespace') or '<namespace>')}-{quote_once(graph).replace('.', '-')}"
