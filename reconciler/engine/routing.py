"""Which objects a change concerns, by the table of controllers."""

from collections.abc import Mapping

from ...kube.protocol import Node
from ..common.keys import Key
from .cache import Cache
from .controller import Controller
from .watch import Change, read_intent, read_status

Controllers = Mapping[str, Controller]  # by kind


def route_change(change: Change, cache: Cache, controllers: Controllers) -> list[Key]:
    """List the keys to reconcile. The pass over an owner knows its own writes of children, but not a status that another pass wrote."""
    key, controller = change.key, controllers.get(change.key.kind)
    keys: list[Key] = []
    if controller is not None and (not change.exists or change.differs(read_intent)):
        keys.append(key)
    elif controller is not None and controller.switch is not None and not change.is_own_write and change.differs(read_status):
        keys.append(key)  # another controller may have begun, or ended, to act on it
    # the pass that made a change knows all about it
    if not change.is_own_write or (controller is not None and change.differs(read_status)):
        # an owner that controlled the object gets a pass even if it is gone: that pass finds what else waits for the object
        keys += [owner for owner, controls in _owners(change, controllers).items() if controls or cache.get(owner) is not None]
    for each in controllers.values():
        keys += each.keys_of(change, cache)
    return keys


def is_overwritten(change: Change, controllers: Controllers) -> bool:
    """Return whether another writer changed the status of an object of a controller's kind, so that its pass must look at it again."""
    controller = controllers.get(change.key.kind)
    if change.is_own_write or not change.exists or controller is None or controller.switch is not None:
        return False
    return change.differs(read_status)


def _owners(change: Change, controllers: Controllers) -> dict[Key, bool]:
    """Return all owners that an object has or had, and whether each controls it. An owner that shares or has lost it gets a pass, too."""
    owners: dict[Key, bool] = {}
    for owner in list_owners(change.old) + list_owners(change.new):
        if owner.get("kind") in controllers:
            key = Key(str(owner["kind"]), change.key.namespace, str(owner["name"]))
            owners[key] = owners.get(key, False) or bool(owner.get("controller"))
    return owners


def list_owners(obj: Node | None) -> list[Node]:
    """The owner references of an object."""
    return [] if obj is None else [*(obj["metadata"].get("ownerReferences") or ())]
