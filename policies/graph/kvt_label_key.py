"""The node label of a KV transfer policy."""

import re
from typing import Final

from ..at import At
from ..domain import is_line_1_4
from ..rule import KV_TRANSFER, Hits, Stage, rule

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_PREFIX: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NAME: Final = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")


@rule("DYN162", where=KV_TRANSFER, when="labelKey", stage=Stage.KV_TRANSFER)
def kvt_label_key_format(at: At) -> Hits:
    """A KV transfer policy's node label has a key that labels can't have.

    Why
        A malformed key is found on no node, so that every worker would look as if it ran nowhere.

    Fix
        Write the key as nodes carry it (`kubectl get nodes --show-labels`): a name of at most 63 characters, with a DNS prefix and a slash
        before it where it has one.

    Example
    bad spec:
    bad   experimental:
    bad     kvTransferPolicy:
    bad       labelKey: topology.kubernetes.io/zone/a  # expect
    bad       domain: zone
    ok  spec: {experimental: {kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone}}}
    """
    key = at.value["labelKey"]
    if key and not _is_qualified_name(key):
        yield at.invalid("labelKey", key, f'must be a label key such as topology.kubernetes.io/zone, got "{key}"')


def _is_qualified_name(key: str) -> bool:
    """Whether a text is a qualified name."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _PREFIX.fullmatch(prefix)):
        return False
    return len(name) <= 63 and _NAME.fullmatch(name) is not None


@rule("DYN161", where=KV_TRANSFER, stage=Stage.KV_TRANSFER)
def kvt_label_key_required(at: At) -> Hits:
    """A KV transfer policy names no node label.

    Why
        Workers read their domain from this label of their node. Without it, no two workers are known to be close.

    Fix
        Write the key of the label, `topology.kubernetes.io/zone` for example; since line 1.5 of the operator a graph on Grove may name a
        topology of Grove instead.

    Example
    bad spec:
    bad   experimental:
    bad     kvTransferPolicy:
    bad       labelKey: ""  # expect
    bad       domain: zone
    ok  spec: {experimental: {kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone}}}
    """
    if not at.value.get("labelKey") and not (is_line_1_4(at.review) and at.value.get("clusterTopologyName")):
        yield at.required("labelKey", "must be the key of a node label, got nothing")
