"""Keys of the queue, and owners of objects."""

from typing import NamedTuple

from ...kube.protocol import Node


class Key(NamedTuple):
    """One object."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def key_of(obj: Node) -> Key:
    """The key of an object."""
    metadata = obj["metadata"]
    return Key(str(obj["kind"]), str(metadata.get("namespace") or ""), str(metadata["name"]))


def kind_and_name(obj: Node) -> tuple[str, str]:
    """Return the kind and name, which identify an object in its namespace."""
    return obj["kind"], obj["metadata"]["name"]


def controller_reference(obj: Node) -> Node | None:
    """The reference to the controlling owner of an object, or None."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def uid_of(obj: Node) -> str:
    """The uid of a stored object, or an empty string."""
    return str(obj["metadata"].get("uid") or "")


def owner_uid(obj: Node | None) -> str:
    """The uid of the controlling owner of an object, or an empty string."""
    owner = controller_reference(obj) if obj is not None else None
    return str((owner or {}).get("uid") or "")


def is_controlled(obj: Node, owner: Node) -> bool:
    """Whether this owner, not an earlier one of the same name, controls an object."""
    return bool(owner_uid(obj)) and owner_uid(obj) == uid_of(owner)
