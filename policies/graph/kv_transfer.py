"""The policy of KV transfers."""

import struct
from typing import Any, Final

from ...api.walk.metadata import qualified_name_error
from ..at import At, Findings
from ..facts import Unknown
from ..grove import explain_off_grove
from ..patterns import check_domain
from ..review import CREATE, UPDATE, Fields, is_line_1_4
from ..rule import GRAPH_OBJECT, KV_TRANSFER, Stage, rule
from ..words import quote_all, quote_once


@rule("DYN164", where=KV_TRANSFER, when="domain", stage=Stage.KV_TRANSFER)
def kvt_domain_format(at: At) -> Findings:
    """The domain of a KV transfer policy is malformed.

    Why
        Domain names consist of lower-case letters, digits and dashes, as in a ClusterTopology.

    Fix
        Write lower-case letters, digits and dashes, and begin and end with a letter or digit.

    Example
         {KV transfer policy}
               labelKey: topology.kubernetes.io/zone
        -      domain: Zone  # expect
        +      domain: zone
    """
    yield from check_domain(at, "domain", at.value["domain"])


@rule("DYN163", where=KV_TRANSFER, stage=Stage.KV_TRANSFER)
def kvt_domain_required(at: At) -> Findings:
    """A KV transfer policy names no domain.

    Why
        The domain is what prefill and decode workers are to share. Without it, the policy has no effect.

    Fix
        Set the domain of the node label, for example `zone`.

    Example
         {KV transfer policy}
               labelKey: topology.kubernetes.io/zone
        -      domain: ""  # expect
        +      domain: "zone"
    """
    if not at.value.get("domain"):
        yield at.required("domain", "must name a domain such as zone, got nothing")


_ENFORCEMENTS: Final = ("required", "preferred")


@rule("DYN165", where=KV_TRANSFER, when="enforcement", stage=Stage.KV_TRANSFER)
def kvt_enforcement_enum(at: At) -> Findings:
    """The enforcement of a KV transfer policy has an unknown value.

    Why
        A policy is either required (`required`) or preferred with a weight (`preferred`).

    Fix
        Write `required` or `preferred` in lower case, or leave the field out, which means `required`.

    Example
         {KV transfer policy}
               labelKey: topology.kubernetes.io/zone
               domain: zone
        -      enforcement: Preferred  # expect
        +      enforcement: preferred
               preferredWeight: 0.5
    """
    enforcement = at.value["enforcement"]
    if enforcement and enforcement not in _ENFORCEMENTS:
        yield at.not_supported("enforcement", enforcement, _ENFORCEMENTS)


_PLACE = "spec.experimental.kvTransferPolicy"
_FIELDS = ("clusterTopologyName", "labelKey", "domain", "enforcement", "preferredWeight")


@rule("DYN720", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.4")
def kvt_immutable(at: At) -> Findings:
    """The KV transfer policy of a graph changes after creation.

    Why
        Workers read the policy when they start, so some would follow the old policy and some the new one.

    Fix
        Restore the old policy, or delete the graph and create it with the new one.

    Example
         spec: {experimental: {kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone}}}
         --- # becomes
         spec:
           experimental:
        -    kvTransferPolicy: {labelKey: topology.kubernetes.io/region, domain: zone}  # expect
        +    kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: required}
           components:
             - {name: frontend, type: frontend, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}

        -spec: {backendFramework: vllm}
        ---- # becomes
        -spec:
        -  experimental:
        -    kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone}  # expect
        -  backendFramework: vllm
        -  components:
        -    - {name: frontend, type: frontend, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}
    """
    if at.review.old is None:
        return
    now, before = at.get(_PLACE), at.was(_PLACE)
    if (now is None) != (before is None):
        text = "must not be added to an existing graph" if before is None else "must not be taken from an existing graph"
        yield at.immutable(_PLACE, text)
    elif now is not None:
        changed = [name for name, value, other in zip(_FIELDS, _values(now), _values(before), strict=True) if value != other]
        if changed:
            yield at.immutable(_PLACE, f"must stay as it is once the graph exists, got another {' and '.join(changed)}")


def _values(policy: Fields) -> tuple[Any, ...]:
    """Values of a policy; without an enforcement it is required."""
    texts = [policy.get(name) or ("required" if name == "enforcement" else "") for name in _FIELDS[:-1]]
    return (*texts, policy.get("preferredWeight"))


@rule("DYN169", where=KV_TRANSFER, when="clusterTopologyName", stage=Stage.KV_TRANSFER, needs=("grove",), since="1.4")
def kvt_topology_requires_grove(at: At) -> Findings:
    """A KV transfer policy names a topology of Grove, but Grove does not run the graph.

    Why
        Workers get their domain in the topology from Grove. Without Grove, they have none.

    Fix
        Name a node label in `labelKey` instead of a topology, or run the graph on Grove.

    Example
        -metadata: {annotations: {nvidia.com/enable-grove: "false"}}
         {KV transfer policy}
               clusterTopologyName: default  # expect
               domain: rack
           components:
             - {name: frontend, type: frontend, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}
    """
    name = at.value["clusterTopologyName"]
    if name and (reason := explain_off_grove(at)):
        yield at.forbidden("clusterTopologyName", f'must be unset without Grove, got "{quote_once(name)}": {reason}')


@rule(
    "DYN170",
    where=KV_TRANSFER,
    when="clusterTopologyName",
    on=(CREATE,),
    stage=Stage.KV_TRANSFER,
    needs=("grove", "clusterTopologies"),
    since="1.4",
)
def kvt_topology_unknown(at: At) -> Findings:
    """A KV transfer policy names a topology that the cluster doesn't have, or a domain that isn't in it.

    Why
        The topology shows which workers are close. Without it, or without the domain, no two workers are.

    Fix
        Name a ClusterTopologyBinding that exists, and one of its domains.

    Example
        -{KV transfer policy}
        -      clusterTopologyName: production  # expect
        -      domain: rack
        -  components:
        -    - {name: frontend, type: frontend, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}

         {KV transfer policy}
               clusterTopologyName: default
        -      domain: room  # expect
        +      domain: rack
           components:
             - {name: frontend, type: frontend, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}
    """
    name, domain, topologies = at.value["clusterTopologyName"], at.value.get("domain") or "", at.review.facts.clusterTopologies
    if not name or (topologies and not isinstance(topologies, Unknown) and domain in topologies.get(name, ())):
        return
    if explain_off_grove(at):
        return
    known = at.fact("clusterTopologies")
    if known is None:
        text = f'must name a ClusterTopologyBinding, but the cluster does not serve them, got "{quote_once(name)}"'
        yield at.invalid("clusterTopologyName", name, text)
    elif name not in known:
        text = f'must name a ClusterTopologyBinding of this cluster, got "{quote_once(name)}"; it has {quote_all(known) or "none"}'
        yield at.not_found("clusterTopologyName", name, text)
    else:
        text = f'must be a domain of the ClusterTopologyBinding ({quote_all(known[name]) or "none"}), got "{quote_once(domain)}"'
        yield at.invalid("domain", domain, text)


@rule("DYN162", where=KV_TRANSFER, when="labelKey", stage=Stage.KV_TRANSFER)
def kvt_label_key_format(at: At) -> Findings:
    """The label key of a KV transfer policy is malformed.

    Why
        No node has a label with a malformed key, so no worker would have a domain.

    Fix
        Write the key as on your nodes (`kubectl get nodes --show-labels`): a name of at most 63 characters, optionally with a DNS prefix
        and a slash.

    Example
         {KV transfer policy}
        -      labelKey: topology.kubernetes.io/zone/a  # expect
        +      labelKey: topology.kubernetes.io/zone
               domain: zone
    """
    key = at.value["labelKey"]
    if key and qualified_name_error(key) is not None:
        yield at.invalid("labelKey", key, f'must be a label key such as topology.kubernetes.io/zone, got "{key}"')


@rule("DYN161", where=KV_TRANSFER, stage=Stage.KV_TRANSFER)
def kvt_label_key_required(at: At) -> Findings:
    """A KV transfer policy names no node label.

    Why
        Workers read their domain from this label of their node. Without it, the router doesn't know which workers are close.

    Fix
        Write the key of the label, for example `topology.kubernetes.io/zone`; since operator 1.5 a graph on Grove may name a
        ClusterTopology instead.

    Example
         {KV transfer policy}
        -      labelKey: ""  # expect
        +      labelKey: "topology.kubernetes.io/zone"
               domain: zone
    """
    if not at.value.get("labelKey") and not (is_line_1_4(at.review) and at.value.get("clusterTopologyName")):
        yield at.required("labelKey", "must be the key of a node label, got nothing")


@rule("DYN168", where=KV_TRANSFER, when="preferredWeight", stage=Stage.KV_TRANSFER)
def kvt_weight_forbidden(at: At) -> Findings:
    """A required KV transfer policy has a weight.

    Why
        A required policy is either met or not. Only a preference has a weight.

    Fix
        Write `enforcement: preferred`, or remove `preferredWeight`. Without `enforcement`, a policy is required.

    Example
         {KV transfer policy}
               labelKey: topology.kubernetes.io/zone
               domain: zone
        +      enforcement: preferred
               preferredWeight: 0.5  # expect
    """
    if (at.value.get("enforcement") or "required") == "required":
        text = f'must be unset unless enforcement is "preferred", got {at.value["preferredWeight"]}'
        yield at.forbidden("preferredWeight", text)


@rule("DYN167", where=KV_TRANSFER, when="preferredWeight", stage=Stage.KV_TRANSFER)
def kvt_weight_range(at: At) -> Findings:
    """A KV transfer policy's weight is not between 0 and 1.

    Why
        The weight is the preference's share in the router's decision.

    Fix
        Write a number from 0 to 1, inclusive.

    Example
         {KV transfer policy}
               labelKey: topology.kubernetes.io/zone
               domain: zone
               enforcement: preferred
        -      preferredWeight: 1.5  # expect
        +      preferredWeight: 1
    """
    weight = at.value["preferredWeight"]
    if not (0 <= weight <= 1 or (-1 < weight < 2 and 0 <= _single(weight) <= 1)):
        yield at.invalid("preferredWeight", weight, f"must be a number from 0 to 1, got {weight}")


def _single(number: float) -> float:
    """Rounds to the 32-bit float that the weight is kept as, so that 1.00000001 is 1; the schema's bound sees to the rest."""
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded


@rule("DYN166", where=KV_TRANSFER, when="enforcement=preferred", stage=Stage.KV_TRANSFER)
def kvt_weight_required(at: At) -> Findings:
    """A preferred KV transfer policy has no weight.

    Why
        The router weighs a preference against load and cache hits. No weight suits every graph, so there is no default.

    Fix
        Write a `preferredWeight` from 0 (no influence) to 1.

    Example
         spec:
           experimental:
        -    kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred}  # expect
        +    kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred, preferredWeight: 0}
    """
    if at.value.get("preferredWeight") is None:
        yield at.required("preferredWeight", 'must be set while enforcement is "preferred", got nothing')
