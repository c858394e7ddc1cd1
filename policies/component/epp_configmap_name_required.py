"""DYN227: an endpoint picker's config map without a name."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN227", where=COMPONENT, when="componentType=epp", stage=Stage.EPP)
def epp_configmap_name_required(at: At) -> Hits:
    """An endpoint picker's config map has no name.

    Why
        The schema takes an empty name for historical reasons of Kubernetes, but there is no config map without one, and the pod would
        wait for it for ever.

    Fix
        Set `eppConfig.configMapRef.name`.

    Bad
        ```yaml
        spec:
          services:
            picker:
              componentType: epp
              eppConfig:
                configMapRef: {key: epp.yaml}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            picker:
              componentType: epp
              eppConfig:
                configMapRef: {name: picker-config, key: epp.yaml}
        ```
    """
    reference = at.get("eppConfig.configMapRef")
    if reference is not None and not reference.get("name"):
        yield at.required("eppConfig.configMapRef.name", "must name a config map, got nothing")
