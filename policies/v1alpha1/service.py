"""Services without content, for which v1beta1 has no name, and annotations and fields without effect that it lacks."""

from ...api.paths import Key
from ..at import At
from ..domain import EXECUTORS, VLLM_EXECUTOR
from ..no_effect import list_ignored_of_service, may_run_on_grove
from ..rule import COMPONENT_V1ALPHA1, DCD_V1ALPHA1, GRAPH_V1ALPHA1, Hits, Stage, differs, rule


@differs(("Q-04",), "a null service is a finding instead of an error, and nulls of the stored object don't matter")
@rule("DYN102", where=GRAPH_V1ALPHA1, when="services", stage=Stage.SHAPE)
def service_null(at: At) -> Hits:
    """A service has a name but is null.

    Why
        `worker:` with nothing behind it is null, which says neither that the service is there nor that it isn't: the API server drops
        such an entry without a word, and the graph comes up without the service.

    Fix
        Write `{}` behind the name for a {service} that needs no settings, or remove the entry.

    Example
        spec:
          services:
            frontend: {componentType: frontend}
    bad     worker: null  # expect
    ok      worker: {}
    """
    for name, service in at.value["services"].items():
        if service is None:
            fix = f"write `{name}: {{}}` for a service without settings, or remove the entry"
            yield at.invalid(("services", Key(name)), None, "must be an object, got null", fix=fix)


@differs((), "what is accepted and has no effect is named", lacking=True)
@rule(
    "DYN913",
    where=COMPONENT_V1ALPHA1,
    when=("serviceName", "annotations", "extraPodSpec.mainContainer.name", "ingress.labels", "ingress.annotations"),
    stage=Stage.ADVICE,
)
def service_field_without_effect(at: At) -> Hits:
    """A service has a field or an annotation that nothing acts on.

    Why
        It is accepted and kept, but what runs is the same without it. The condition `FieldsIgnored` names it, too.

    Fix
        Remove it, or write it where it acts.

    Example
        spec:
          services:
    bad     frontend:
    bad       componentType: frontend
    bad       serviceName: front  # expect
    ok      frontend: {componentType: frontend}
    """
    alone = at.review.kind == DCD_V1ALPHA1
    for path, why in list_ignored_of_service(at.value, (), grove=False if alone else may_run_on_grove(at.review), alone=alone):
        yield at.warning(path, f"is without effect{why.removeprefix('has no effect')}")


@differs(("Q-04",), "a null annotation counts as absent")
@rule("DYN206", where=COMPONENT_V1ALPHA1, when="annotations", stage=Stage.COMPONENT)
def service_annotation_vllm_executor(at: At) -> Hits:
    """A component's vLLM executor annotation names no executor.

    Why
        Multi-node vLLM is started either by its own multiprocessing or by Ray. Any other word would quietly fall back to a default.

    Fix
        Write `mp` or `ray`, or remove the annotation.

    Example
        spec:
          services:
            worker:
              componentType: worker
    bad       annotations: {nvidia.com/vllm-distributed-executor-backend: dask}  # expect
    ok        annotations: {nvidia.com/vllm-distributed-executor-backend: Ray}
    """
    value = at.value["annotations"].get(VLLM_EXECUTOR)
    if value is not None and value.lower() not in EXECUTORS:
        yield at.not_supported(("annotations", Key(VLLM_EXECUTOR)), value, EXECUTORS)
