"""The metadata of a child: identity, labels, owner."""

from collections.abc import Mapping
from typing import Any

from ...conversion.lens.protocol import Fields


def make_child(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "",
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: Fields | None = None,
    **content: Any,
) -> Fields:
    """An object. Labels and annotations are sorted, and omitted if empty; an owner becomes its controller, and gives its namespace."""
    metadata: Fields = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    if owner is not None:
        metadata["namespace"] = namespace or owner["metadata"].get("namespace") or "default"
        metadata["ownerReferences"] = [make_reference(owner)]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def annotate(obj: Fields, annotations: Mapping[str, str]) -> Fields:
    """An object with more annotations."""
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}}


def make_reference(owner: Fields) -> Fields:
    """The controller reference to an object, without uid if it was never stored."""
    metadata = owner["metadata"]
    out = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    if metadata.get("uid"):
        out["uid"] = metadata["uid"]
    return {**out, "controller": True, "blockOwnerDeletion": True}


def make_co_owner(owner: Fields) -> Fields:
    """The reference to one of several owners: what they own is collected when all of them are gone."""
    return {**make_reference(owner), "controller": False, "blockOwnerDeletion": False}
