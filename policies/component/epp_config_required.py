"""DYN224: an endpoint picker without configuration."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN224", where=COMPONENT, when="componentType=epp", stage=Stage.EPP)
def epp_config_required(at: At) -> Hits:
    """An endpoint picker has no configuration.

    Why
        Which plugins filter and score the endpoints stands in the picker's configuration, and there is no default that suits every model.

    Fix
        Set `eppConfig` with a `configMapRef` or an inline `config`.

    Bad
        ```yaml
        spec:
          services:
            picker:  # expect
              componentType: epp
        ```

    Good
        ```yaml
        spec:
          services:
            picker:
              componentType: epp
              eppConfig: {configMapRef: {name: picker-config, key: epp.yaml}}
        ```
    """
    if at.value.get("eppConfig") is None:
        yield at.required("eppConfig", 'must be set for a component of type "epp", got nothing')
