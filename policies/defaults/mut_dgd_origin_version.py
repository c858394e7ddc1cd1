"""DYND02: which version of the operator a graph was created under."""

from collections.abc import Iterator

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import ORIGIN_VERSION
from dynamo_webhooks.policies.edit import Edit
from dynamo_webhooks.policies.review import CREATE, UPDATE
from dynamo_webhooks.policies.rule import GRAPH_OBJECT, default

_PATH = ("metadata", "annotations", Key(ORIGIN_VERSION))


@default("DYND02", where=GRAPH_OBJECT, on=(CREATE, UPDATE), needs=("operatorVersion",))
def mut_dgd_origin_version(at: At) -> Iterator[Edit]:
    """A new graph remembers the version of the operator that saw it first.

    Why
        Later versions treat older graphs as they were treated then, so that an upgrade of the operator restarts nothing.
        A tool that replaces all annotations would drop it: an update gets the stored one back.

    Before
        ```yaml
        spec: {services: {worker: {replicas: 1}}}
        ```
        ```yaml
        metadata: {annotations: {nvidia.com/dynamo-operator-origin-version: 1.0.0}}
        --- # becomes
        metadata: {annotations: {team: search}}
        ```

    After
        ```yaml
        metadata: {annotations: {nvidia.com/dynamo-operator-origin-version: 1.2.0}}
        spec: {services: {worker: {replicas: 1}}}
        ```
        ```yaml
        metadata: {annotations: {team: search, nvidia.com/dynamo-operator-origin-version: 1.0.0}}
        ```
    """
    if at.get(_PATH) is not None:
        return
    if at.review.operation == CREATE:
        yield at.set(_PATH, at.fact("operatorVersion"))
    elif (kept := _stored(at)) is not None:
        yield at.set(_PATH, kept)


def _stored(at: At) -> str | None:
    found = (((at.old or {}).get("metadata") or {}).get("annotations") or {}).get(ORIGIN_VERSION)
    return None if found is None else str(found)


@mut_dgd_origin_version.in_1_2(
    "Q-24",
    because="the stored annotation is restored: graphs without it are treated differently",
    on=(CREATE,),
)
def mut_dgd_origin_version_in_1_2(at: At) -> Iterator[Edit]:
    """Stamped on creation only, and not where the key is there with a null."""
    if ORIGIN_VERSION not in at.review.annotations:
        yield from mut_dgd_origin_version.check(at)
