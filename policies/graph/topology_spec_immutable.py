"""DYN706: a graph that changes where its pods are packed."""

from typing import Any

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE, Fields
from dynamo_webhooks.policies.rule import GRAPH_OBJECT, Hits, rule
from dynamo_webhooks.policies.words import Words, words

_FIELDS = ("topologyProfile", "packDomain")


@rule("DYN706", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def topology_spec_immutable(at: At) -> Hits:
    """The topology constraint of a graph changes after creation.

    Why
        Pods are placed once; a new constraint would hold for some of them and not for others.

    Fix
        Put the old constraint back, or create the graph anew with the other one.

    Bad
        ```yaml
        spec: {topologyConstraint: {topologyProfile: default, packDomain: zone}}
        --- # becomes
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: rack}  # expect
        ```
        Adding a constraint, or taking it away, is a change too.
        ```yaml
        spec: {topologyConstraint: {topologyProfile: default, packDomain: zone}}
        --- # becomes
        spec:  # expect
          backendFramework:
        ```

    Good
        ```yaml
        spec: {topologyConstraint: {topologyProfile: default, packDomain: zone}}
        --- # becomes
        spec: {topologyConstraint: {topologyProfile: default, packDomain: zone}, envs: [{name: A, value: b}]}
        ```
    """
    if at.old is None:
        return
    now, before = at.get("spec.topologyConstraint"), at.was("spec.topologyConstraint")
    if now is not None and before is not None:
        if _values(now) != _values(before):
            yield at.immutable("spec.topologyConstraint", words("must stay {before}, got {now}", before=_shown(before), now=_shown(now)))
    elif before is not None:
        yield at.immutable("spec.topologyConstraint", words("must stay {before}, got none", before=_shown(before)))
    elif now is not None:
        yield at.immutable("spec.topologyConstraint", "must not be added to an existing graph")


def _values(constraint: Fields) -> list[Any]:
    return [constraint.get(field) or "" for field in _FIELDS]


def _shown(constraint: Fields) -> Words:
    profile, domain = _values(constraint)
    return words('{topologyProfile} "{profile}" and packDomain "{domain}"', profile=profile, domain=domain)
