"""DYN505: an override that is no graph."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import REQUEST, Difference, Hits, rule

_KIND = "DynamoGraphDeployment"
_GROUP = "nvidia.com"


@rule(
    "DYN505",
    where=REQUEST,
    when="overrides",
    stage=Stage.REQUEST,
    current_only=Difference(("G-17",), "an override of another kind, such as a Pod, fails later"),
)
def dgdr_override_kind(at: At) -> Hits:
    """The object in `overrides.dgd` isn't a graph.

    Why
        It is merged over the graph that the search found; an object of another kind has no field in common with one.

    Fix
        Set `kind: DynamoGraphDeployment` and an `apiVersion` of the group nvidia.com.

    Bad
        ```yaml
        spec:
          overrides:
            dgd:
              apiVersion: nvidia.com/v1alpha1
              kind: Pod  # expect
        ```
        ```yaml
        spec:
          overrides:
            dgd:
              apiVersion: example.com/v1  # expect
              kind: DynamoGraphDeployment
        ```

    Good
        ```yaml
        spec: {overrides: {dgd: {apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, spec: {backendFramework: vllm}}}}
        ```
    """
    graph = at.get("overrides.dgd")
    # free-form: whatever JSON stands there reached us undecoded
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
