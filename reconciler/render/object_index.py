"""An index of objects by kind, namespace and name."""

from collections.abc import Iterable

from ...conversion.lens.protocol import Fields


class ObjectIndex:
    """Objects by kind and namespace, in the order in which they were given. One look-up costs as much as the kind has objects there."""

    def __init__(self, objects: Iterable[Fields] = (), namespace: str = "default") -> None:
        """`namespace` is that of objects that name none; what has no kind or no name is left out."""
        self._kinds: dict[str, list[tuple[str, str, Fields]]] = {}
        for obj in objects:
            kind, metadata = obj.get("kind"), obj.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else None
            if isinstance(kind, str) and isinstance(name, str) and isinstance(metadata, dict):
                self._kinds.setdefault(kind, []).append((str(metadata.get("namespace") or namespace), name, obj))

    def all(self, kind: str, namespace: str = "") -> list[Fields]:
        """All objects of a kind; without a namespace those of every one, and those that have none, such as Nodes."""
        return [obj for where, _, obj in self._kinds.get(kind, ()) if namespace in ("", where)]

    def get(self, kind: str, namespace: str, name: str) -> Fields | None:
        """One object of a namespace, or None."""
        return next((obj for where, called, obj in self._kinds.get(kind, ()) if where == namespace and called == name), None)
