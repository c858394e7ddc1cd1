"""DYN102: a service that is null."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN102", where=GRAPH, when="services", stage=Stage.SHAPE)
def service_null(at: At) -> Hits:
    """A service has a name but is null.

    Why
        `worker:` with nothing behind it is null, which says neither that the service is there nor that it isn't: the API server drops
        such an entry without a word, and the graph comes up without the service.

    Fix
        Write `{}` behind the name for a {service} that needs no settings, or remove the entry.

    Bad
        ```yaml
        spec:
          services:
            frontend: {componentType: frontend}
            worker: null  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            frontend: {componentType: frontend}
            worker: {}
        ```
    """
    for name, service in at.value["services"].items():
        if service is None:
            fix = words("write `{name}: {}` for a {service} without settings, or remove the entry", name=name)
            yield at.invalid(("services", Key(name)), None, "must be an object, got null", fix=fix)


@service_null.in_1_2(
    "Q-04",
    because="a null service is a finding instead of an error, and nulls of the stored object don't matter",
)
def service_null_in_1_2(at: At) -> Hits:
    """A null service on either side of the request ends in a fault there, which refuses it."""
    yield from service_null.check(at)
    old = (at.review.old or {}).get("spec") or {}
    for name, service in (old.get("services") or {}).items():
        if service is None:
            yield at.invalid(("services", Key(name)), None, "must be an object, got null in the stored graph")
