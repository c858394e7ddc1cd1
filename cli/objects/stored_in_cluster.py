"""The stored objects of files that are checked or compared with a cluster, and what each file would make of its object there."""

from typing import Final

from ...api.kinds import BY_NAME
from ...api.line import Line
from ...kube.protocol import Node
from ..yaml.load import InputError, read_text
from .apply import simulate_apply
from .cluster_snapshot import Sight, source
from .manifest import Identity, Manifest, find_manifests
from .stored import Previous, store_as

USUAL_NAMESPACE: Final = "default"


class Live:
    """Finds stored objects in a cluster snapshot; reads and converts each on demand."""

    placed: Final = True

    def __init__(self, sight: Sight, namespace: str) -> None:
        """`namespace` is that of objects that name none."""
        self._namespace = namespace or USUAL_NAMESPACE
        self._unreachable = sight.unreachable
        self._unlisted = {one.name: str(one) for one in sight.items if isinstance(one, InputError)}
        self._items = {_identity(one): one for one in sight.items if not isinstance(one, InputError)}

    def past(self, new: Manifest, line: Line) -> Previous | InputError:
        """The stored object, and the result of applying the file. One that can't be read is reported, and is no error."""
        kind = new.identity.kind
        why = self._unreachable or (self._unlisted.get(f"cluster:{BY_NAME[kind].plural}", "") if kind in BY_NAME else "")
        item = self._item(new.identity)
        if item is None:
            return Previous(None, f"{why}, so the stored object is not known" if why else "")
        stored = store_as(_found(item), new.version, line)
        if isinstance(stored, InputError):
            return Previous(None, str(stored))
        return Previous(stored, applied=simulate_apply(new.data, stored, item, kind))

    def stored(self, identity: Identity) -> Manifest | None:
        """The object as the cluster gave it; None where there is none."""
        item = self._item(identity)
        return None if item is None else _found(item)

    def _item(self, identity: Identity) -> Node | None:
        return self._items.get(identity if identity.namespace else identity._replace(namespace=self._namespace))


def _identity(item: Node) -> Identity:
    return Identity(item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])


def _found(item: Node) -> Manifest:
    return next(find_manifests(one for one in read_text(source(item)) if not isinstance(one, InputError)))
