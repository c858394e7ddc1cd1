"""Overrides of the graph that a request makes."""

import re

from ...api.paths import Key, Path
from ..at import At, Findings
from ..rule import REQUEST, Stage, differs, rule

_KIND = "DynamoGraphDeployment"
_GROUP = "nvidia.com"


@differs("an override of another kind, such as a Pod, fails later", lacking=True)
@rule("DYN505", where=REQUEST, when="overrides", stage=Stage.REQUEST)
def dgdr_override_kind(at: At) -> Findings:
    """The object in `overrides.dgd` isn't a graph.

    Why
        It is merged over the graph that the search found, so it must be a graph, too.

    Fix
        Set `kind: DynamoGraphDeployment` and an `apiVersion` of the group nvidia.com.

    Example
        -spec:
        -  overrides:
        -    dgd:
        -      apiVersion: nvidia.com/v1alpha1
        -      kind: Pod  # expect

         spec:
           overrides:
             dgd:
        -      apiVersion: example.com/v1  # expect
        +      apiVersion: nvidia.com/v1beta1
               kind: DynamoGraphDeployment
        +      spec:
        +        backendFramework: vllm
    """
    graph = at.get("overrides.dgd")
    # free-form: any JSON, undecoded
    if not isinstance(graph, dict):
        return
    kind, version = _text(graph.get("kind")), _text(graph.get("apiVersion"))
    if kind != _KIND:
        yield at.invalid("overrides.dgd.kind", kind, f'must be {_KIND}, got "{kind}"')
    group, _, rest = version.partition("/")
    if group != _GROUP or not rest:
        yield at.invalid("overrides.dgd.apiVersion", version, f'must be a version of the group {_GROUP}, got "{version}"')


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_LEGACY = re.compile(r"(?:Vllm|TRTLLM|SGLang)(?:Prefill|Decode)?Worker")


@rule("DYN916", where=REQUEST, when="overrides.dgd", stage=Stage.ADVICE, ratchets=False, since="1.5")
def dgdr_legacy_names(at: At) -> Findings:
    """An override of the graph uses component names of earlier profilers.

    Why
        The profiler names the components of its graph otherwise now, so an override of a component with an old name changes nothing.

    Fix
        Use the names of the generated graph, such as `prefill` and `decode`.

    Example
         spec:
           model: m
           image: example/planner:1.5.0
        -  overrides:
        -    dgd:
        -      apiVersion: nvidia.com/v1beta1
        -      kind: DynamoGraphDeployment
        -      spec:
        -        components:
        -          - {name: VllmDecodeWorker, replicas: 2}  # expect

         spec:
           model: m
           image: example/planner:1.5.0
           overrides:
             dgd:
               apiVersion: nvidia.com/v1alpha1
               kind: DynamoGraphDeployment
               spec:
                 services:
        -          SGLangWorker: {replicas: 2}  # expect
        +          decode: {replicas: 2}
    """
    spec = at.get("overrides.dgd.spec")
    services, components = ((spec or {}).get(part) for part in ("services", "components")) if isinstance(spec, dict) else (None, None)
    names: list[tuple[Path, object]] = [(("services", Key(name)), name) for name in services] if isinstance(services, dict) else []
    listed = enumerate(components) if isinstance(components, list) else ()
    names += [(("components", index, "name"), component.get("name")) for index, component in listed if isinstance(component, dict)]
    for path, name in names:
        if isinstance(name, str) and _LEGACY.fullmatch(name):
            yield at.warning(
                ("overrides", "dgd", "spec", *path), f'is a name of earlier profilers, "{name}", which no component has any more'
            )
