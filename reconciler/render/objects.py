"""The outer shape of a child: identity, labels, owner. What is inside it is its own module's business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dynamo_webhooks.conversion.lens.protocol import Fields

# what these are sorted as: characters that no field's name begins with
_FIRST: Final = {name: chr(number) for number, name in enumerate(("apiVersion", "kind", "metadata", "name", "namespace"))}


def child(
    api_version: str,
    kind: str,
    name: str,
    namespace: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: Fields | None = None,
) -> Fields:
    """An object without content. Labels and annotations are sorted and left out when empty; an owner becomes its controller."""
    metadata: Fields = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    if owner is not None:
        metadata["ownerReferences"] = [reference(owner)]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def canonical(value: Any) -> Any:
    """A copy with the members of every map in one order, whoever wrote them in which: what names a thing first, the others sorted."""
    if isinstance(value, dict):
        return {name: canonical(one) if isinstance(one, (dict, list)) else one for name, one in sorted(value.items(), key=_place)}
    return [canonical(one) for one in value] if isinstance(value, list) else value


def _place(member: tuple[str, Any]) -> str:
    return _FIRST.get(member[0], member[0])


def reference(owner: Fields) -> Fields:
    """The controller reference to an object; an object that was never stored has no uid to name."""
    metadata = owner["metadata"]
    out = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    if metadata.get("uid"):
        out["uid"] = metadata["uid"]
    return {**out, "controller": True, "blockOwnerDeletion": True}
