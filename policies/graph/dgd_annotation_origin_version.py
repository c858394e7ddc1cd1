"""DYN103: the annotation of the operator version that made a graph."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import ORIGIN_VERSION
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH_ANNOTATIONS, Hits, rule
from dynamo_webhooks.policies.semver import is_semver


@rule("DYN103", where=GRAPH_ANNOTATIONS, when=ORIGIN_VERSION, stage=Stage.METADATA)
def dgd_annotation_origin_version(at: At) -> Hits:
    """The origin version annotation is not a version.

    Why
        The operator records here by which of its versions a graph was created, and keeps the behaviour of that version for the graph.
        A text that can't be read as a version would silently mean the oldest behaviour.

    Fix
        Remove the annotation, so that the operator writes its own version, or write one such as `1.2.0`.

    Bad
        ```yaml
        metadata:
          annotations:
            nvidia.com/dynamo-operator-origin-version: 1.2.3.4  # expect
        ```

    Good
        ```yaml
        metadata:
          annotations:
            nvidia.com/dynamo-operator-origin-version: v1.2.0-rc.1
        ```
    """
    yield from _no_version(at, at.value[ORIGIN_VERSION])


@dgd_annotation_origin_version.in_1_2("Q-04", because="a null annotation counts as absent", when=())
def dgd_annotation_origin_version_in_1_2(at: At) -> Hits:
    """A null reads as an empty text there."""
    if ORIGIN_VERSION in at.value:
        yield from _no_version(at, at.value[ORIGIN_VERSION] or "")


def _no_version(at: At, value: str) -> Hits:
    if not is_semver(value):
        yield at.invalid((Key(ORIGIN_VERSION),), value, f'must be a semantic version such as 1.2.0, got "{value}"')
