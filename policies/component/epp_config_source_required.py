"""DYN225: an endpoint picker whose configuration comes from nowhere."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import on_1_5
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN225", where=COMPONENT, when="eppConfig", stage=Stage.EPP)
def epp_config_source_required(at: At) -> Hits:
    """An endpoint picker's configuration names no source.

    Why
        The block only says where the configuration comes from. Empty, it is no better than no block at all.

    Fix
        Set `eppConfig.configMapRef` to a key of a config map, or write the configuration into `eppConfig.config`.

    Bad
        ```yaml
        spec:
          services:
            picker:
              componentType: epp
              eppConfig: {}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            picker:
              componentType: epp
              eppConfig: {config: {plugins: [{type: queue-scorer}], schedulingProfiles: []}}
        ```
    """
    config = at.value["eppConfig"]
    # line 1.2 reads the block of an endpoint picker alone
    asked = at.value.get("componentType") == "epp" or on_1_5(at.review)
    if asked and config.get("configMapRef") is None and config.get("config") is None:
        yield at.required("eppConfig", "must have configMapRef or config, got neither")
