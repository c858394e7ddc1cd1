"""DYN226: an endpoint picker with two configurations."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import on_1_5
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN226", where=COMPONENT, when="eppConfig", stage=Stage.EPP)
def epp_config_source_exclusive(at: At) -> Hits:
    """An endpoint picker has a configuration of its own and one from a config map.

    Why
        The picker reads one file. Which of the two it would be is not for the operator to guess; even an empty block counts.

    Fix
        Keep `configMapRef` or `config`, and remove the other.

    Bad
        ```yaml
        spec:
          services:
            picker:
              componentType: epp
              eppConfig:  # expect
                configMapRef: {name: picker-config, key: epp.yaml}
                config: {plugins: [{type: queue-scorer}], schedulingProfiles: []}
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
    config = at.value["eppConfig"]
    # line 1.2 reads the block of an endpoint picker alone
    asked = at.value.get("componentType") == "epp" or on_1_5(at.review)
    if asked and config.get("configMapRef") is not None and config.get("config") is not None:
        yield at.forbidden("eppConfig", "must not have both configMapRef and config")
