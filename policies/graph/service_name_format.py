"""DYN109: names of services that can't be names of children."""

import re
from typing import Final

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import GRAPH, Difference, Hits, rule

_LONGEST: Final = 63
_NAME: Final = re.compile(rf"[A-Za-z0-9](?:[-A-Za-z0-9]{{0,{_LONGEST - 2}}}[A-Za-z0-9])?")


# A name is fixed once the graph exists, so that only a create can be asked to have another one.
@rule(
    "DYN109",
    where=GRAPH,
    when="services",
    stage=Stage.NAMES,
    on=(CREATE,),
    current_only=Difference(("G-08",), "names that child objects and v1beta1 components can't have would fail later"),
)
def service_name_format(at: At) -> Hits:
    """A service's name can't be used for the objects that are made of it.

    Why
        Deployments, Kubernetes services and labels carry the service's name. Blanks, dots, slashes and underscores make them invalid, and
        v1beta1 can't express such a service at all.

    Fix
        Use 1 to 63 letters, digits and dashes, with a letter or digit at both ends.

    Bad
        ```yaml
        spec:
          services:
            prefill_worker: {componentType: worker}  # expect
            decode.worker: {componentType: worker}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            PrefillWorker: {componentType: worker}
            decode-worker: {componentType: worker}
        ```
    """
    for name in at.value["services"]:
        # most names are letters and digits only, which is told without a pattern
        if not (name.isalnum() and name.isascii() and len(name) <= _LONGEST) and not _NAME.fullmatch(name):
            seen = f"{len(name)} characters" if len(name) > _LONGEST else f'"{name}"'
            text = f"must be named with 1 to {_LONGEST} letters, digits and inner dashes, got {seen}"
            yield at.invalid(("services", Key(name)), name, text)
