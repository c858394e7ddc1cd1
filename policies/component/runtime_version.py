"""The version of the runtime that an image holds."""

from ..at import At
from ..engines import list_engines
from ..image_tag import explain_missing_version
from ..rule import GRAPH_COMPONENT, Hits, Stage, rule


@rule("DYN213", where=GRAPH_COMPONENT, when="podTemplate", stage=Stage.COMPONENT, since="1.5")
def runtime_version_required(at: At) -> Hits:
    """A component's image doesn't say which version of the Dynamo runtime it holds.

    Why
        The operator starts each runtime as its version wants to be started, and learns the version from the image's tag. From a tag such as
        `latest`, or a digest alone, it can't.

    Fix
        Use an image whose tag is a version of three numbers, such as `1.5.0` or `v1.5.0-rc.1`, or set `runtimeVersionOverride`.

    Example
        spec:
          components:
    bad     - {name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:latest"}]}}}  # expect
    ok      - name: other
    ok        type: worker
    ok        runtimeVersionOverride: 1.5.0
    ok        podTemplate: {spec: {containers: [{name: main, image: "example/vllm:latest"}]}}
    ok      - {name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:v1.5.0-rc.1"}]}}}

        spec:
    bad   components: [{name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}]
    ok    components:
    ok      - {name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:latest"}]}}}
        --- # becomes
        spec:
          components:
    bad     - {name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5"}]}}}  # expect
    ok      - name: worker
    ok        type: worker
    ok        replicas: 2
    ok        podTemplate: {spec: {containers: [{name: main, image: "example/vllm:latest"}]}}
    """
    if at.review.old is None or at.old is not None:
        yield from explain_missing_version(at, [engine.get("image") for engine in list_engines(at)])
