"""The stored objects of files that are checked or compared with a cluster, and what each file would make of its object there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.cli.check.applied import applied
from dynamo_webhooks.cli.check.cluster import source
from dynamo_webhooks.cli.check.objects import Found, Identity, objects
from dynamo_webhooks.cli.check.old import Past, as_stored
from dynamo_webhooks.cli.yaml.load import InputError, read

if TYPE_CHECKING:
    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.check.cluster import Sight
    from dynamo_webhooks.kube.protocol import Node

USUAL_NAMESPACE: Final = "default"


class Live:
    """Finds the past of objects in what was seen of a cluster; an object is read and converted when it is asked for."""

    def __init__(self, sight: Sight, namespace: str) -> None:
        """`namespace` is that of objects that name none."""
        self._namespace = namespace or USUAL_NAMESPACE
        self._unreachable = sight.unreachable
        self._unlisted = {one.name: str(one) for one in sight.items if isinstance(one, InputError)}
        self._items = {_identity(one): one for one in sight.items if not isinstance(one, InputError)}

    def past(self, new: Found, line: Line) -> Past | InputError:
        """The stored object, and what it would be with the file applied. One that can't be told is said to be so, and is no error."""
        kind = new.identity.kind
        why = self._unreachable or (self._unlisted.get(f"cluster:{BY_NAME[kind].plural}", "") if kind in BY_NAME else "")
        item = self._item(new.identity)
        if item is None:
            return Past(None, f"{why}, so the stored object is not known" if why else "")
        stored = as_stored(_found(item), new.version, line)
        if isinstance(stored, InputError):
            return Past(None, str(stored))
        return Past(stored, applied=applied(new.data, stored, item, kind))

    def stored(self, identity: Identity) -> Found | None:
        """The object as the cluster gave it; None where there is none."""
        item = self._item(identity)
        return None if item is None else _found(item)

    def _item(self, identity: Identity) -> Node | None:
        return self._items.get(identity if identity.namespace else identity._replace(namespace=self._namespace))


def _identity(item: Node) -> Identity:
    return Identity(item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])


def _found(item: Node) -> Found:
    return next(objects(one for one in read(source(item)) if not isinstance(one, InputError)))
