"""DYND01: how many replicas a service has when nobody says."""

from collections.abc import Iterator

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.edit import Edit
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import SERVICES, default


@default("DYND01", where=SERVICES)
def mut_dgd_replicas(at: At) -> Iterator[Edit]:
    """A service without `replicas` gets one.

    Why
        The number that counts stands in the object, where people, adapters and dashboards read it. An explicit 0 stays.
        On an update, a service under a scaling adapter that leaves `replicas` out keeps the number that the adapter wrote last.

    Before
        ```yaml
        spec: {services: {worker: {}, parked: {replicas: 0}}}
        ```
        ```yaml
        spec: {services: {worker: {replicas: 3, scalingAdapter: {enabled: true}}}}
        --- # becomes
        spec: {services: {worker: {scalingAdapter: {enabled: true}}}}
        ```

    After
        ```yaml
        spec: {services: {worker: {replicas: 1}, parked: {replicas: 0}}}
        ```
        ```yaml
        spec: {services: {worker: {replicas: 3, scalingAdapter: {enabled: true}}}}
        ```
    """
    if at.value.get("replicas") is None:
        yield at.set("replicas", _kept(at))


def _kept(at: At) -> int:
    """The number of the stored service where an adapter owns it, else 1."""
    old = at.old if at.review.operation == UPDATE else None
    if old is None or not (enabled(at.value.get("scalingAdapter")) or enabled(old.get("scalingAdapter"))):
        return 1
    before = old.get("replicas")
    return 1 if before is None else int(before)


@mut_dgd_replicas.in_1_2(
    "Q-40",
    because="the default applies to updates too; under an adapter the stored number is kept, because 1 would scale down",
)
def mut_dgd_replicas_in_1_2(at: At) -> Iterator[Edit]:
    """Absent replicas are 1, whatever the stored object says."""
    if at.value.get("replicas") is None:
        yield at.set("replicas", 1)
