"""Topology-aware transfer of KV caches: a worker's place. Another controller sets the pod's label."""

import struct
from decimal import Decimal
from typing import Final

from ...api.paths import lookup
from ...conversion.lens.protocol import Fields
from .graph import Graph, Member
from .merge import object_items, put_named
from .template import find_engine

_MOUNT: Final = "/etc/dynamo/topology"
_VOLUME: Final = "topology-labels"
_WEIGHT: Final = "DYN_KV_TRANSFER_PREFERRED_WEIGHT"


def find_label_key(graph: Graph, member: Member) -> str:
    """The node label of a worker's place, or an empty string."""
    policy = _policy(graph)
    return str(policy.get("labelKey") or "") if member.is_worker else ""


def read_topology(obj: Fields) -> tuple[str, str]:
    """The topology of Grove that a graph of either version names instead of a label, and its domain; empty where it names none."""
    policy = lookup(obj, ("spec", "experimental", "kvTransferPolicy"))
    if not isinstance(policy, dict) or policy.get("labelKey"):
        return "", ""
    return str(policy.get("clusterTopologyName") or ""), str(policy.get("domain") or "")


def find_domain_key(binding: Fields | None, domain: str) -> str:
    """Finds the node label of a domain in a ClusterTopologyBinding, whose content is untrusted; empty if it has none."""
    levels = lookup(binding, ("spec", "levels"))
    keys = (level.get("key") for level in object_items(levels if isinstance(levels, list) else ()) if level.get("domain") == domain)
    return next((key for key in keys if isinstance(key, str) and key), "")


def with_label_key(obj: Fields, key: str) -> Fields:
    """A graph whose policy names the label that its topology means."""
    features = obj["spec"]["experimental"]
    policy = {**features["kvTransferPolicy"], "labelKey": key}
    return {**obj, "spec": {**obj["spec"], "experimental": {**features, "kvTransferPolicy": policy}}}


def apply_kv_transfer(graph: Graph, member: Member, template: Fields) -> str:
    """Set variables, volume and mount on a template, in place, overriding the user's; returns the label's key."""
    key = find_label_key(graph, member)
    if not key:
        return ""
    policy, main = _policy(graph), find_engine(template, member.type, graph.line)
    domain = str(policy.get("domain") or "")
    variables = _env(policy, domain)
    kept = [variable for variable in object_items(main.get("env")) if variable.get("name") not in (*variables, _WEIGHT)]
    main["env"] = [*kept, *({"name": name, "value": value} for name, value in variables.items())]
    mounts = [
        mount for mount in object_items(main.get("volumeMounts")) if mount.get("name") != _VOLUME and mount.get("mountPath") != _MOUNT
    ]
    main["volumeMounts"] = [*mounts, {"name": _VOLUME, "mountPath": _MOUNT, "readOnly": True}]
    item = {"path": domain, "fieldRef": {"fieldPath": f"metadata.labels['{key}']"}}
    put_named(template["spec"], "volumes", {"name": _VOLUME, "downwardAPI": {"items": [item]}})
    return key


def _policy(graph: Graph) -> Fields:
    policy: Fields = (graph.spec.get("experimental") or {}).get("kvTransferPolicy") or {}
    return policy


def _env(policy: Fields, domain: str) -> dict[str, str]:
    values = {"DYN_KV_TRANSFER_DOMAIN": domain, "DYN_KV_TRANSFER_ENFORCEMENT": str(policy.get("enforcement") or "required")}
    if policy.get("preferredWeight") is not None:
        values[_WEIGHT] = _shortest(policy["preferredWeight"])
    return values | {"DYN_TOPOLOGY_ENABLED": "true", "DYN_TOPOLOGY_MOUNT_PATH": _MOUNT}


def _shortest(number: float) -> str:
    """A weight in its shortest decimal form: `0.5`, `1`, never `1.0` or `5e-05`. A 32-bit float has nine significant digits."""
    exact = repr(float(number))
    forms = (f"{number:.{digits}g}" for digits in range(1, 10))
    # admission refuses values above 1, where rounding up might exceed the format
    near = (form for form in forms if abs(number) <= 1 and struct.pack("f", float(form)) == struct.pack("f", number))
    return format(Decimal(next(near, exact)), "f").removesuffix(".0")
