"""DYN708: services that come or go in an existing graph."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import quoted
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import GRAPH_OBJECT, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN708", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_service_set_immutable(at: At) -> Hits:
    """A service is added to an existing graph, taken from it, or renamed.

    Why
        The pods of a graph are created as one set; a set can change its sizes but not its members.

    Fix
        Keep the names. To park a {service} set its `replicas` to 0; for another set of {services} create another graph.

    Bad
        ```yaml
        spec: {services: {frontend: {}, worker: {}}}
        --- # becomes
        spec:
          services: {frontend: {}, decoder: {}}  # expect
        ```

    Good
        ```yaml
        spec: {services: {frontend: {}, worker: {replicas: 2}}}
        --- # becomes
        spec: {services: {worker: {replicas: 0}, frontend: {}}}
        ```
    """
    if at.old is None:
        return
    # names count, whatever lies under them: a null service is the business of another rule
    now, before = (at.get("spec.services") or {}).keys(), (at.was("spec.services") or {}).keys()
    if not now or now == before:  # no services at all: the rule dgd-services-required speaks
        return
    changes = [f"{word} {quoted(names)}" for word, names in (("added", now - before), ("removed", before - now)) if names]
    text = words("must keep the {services} that the graph was created with: {changes}", changes="; ".join(changes))
    yield at.immutable("spec.services", text)
