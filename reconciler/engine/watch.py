"""Watches: the objects of a cluster that are kept up to date in memory, and a change of one."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from ...api.operator.configuration import OperatorConfiguration
from ...kube.capability import Presence
from ...kube.protocol import Node
from ...kube.resources import Resource
from ..common.keys import Key, key_of
from ..common.resources import RECONCILED
from .queue import Cause

Known = Mapping[str, Presence]  # capabilities of the cluster
EVERY: Final = ("", "")
LABELLED: Final = (f"{RECONCILED}=true", "")
GATHER_SECONDS: Final = 0.1  # before what changes concern is passed over once for all
PROGRESS_SECONDS: Final = 0.5  # seconds of the same for status: a roll-out changes it many times


class Need(IntEnum):
    """Whether passes wait for the first list of a kind."""

    NONE = 0
    LISTED = 1  # unless it can't be read
    OURS = 2  # the same; a user must install a missing definition
    READABLE = 3  # in any case


class Watch(NamedTuple):
    """A kind that is kept up to date in memory."""

    resource: Resource
    selections: Sequence[tuple[str, str]] = (EVERY,)  # by labels and fields, no two of the same object
    need: Need = Need.LISTED
    when: Callable[[OperatorConfiguration, Known], bool] = lambda _settings, _known: True
    trim: Callable[[Node], None] = lambda _obj: None  # drops what isn't read
    flat: bool = False  # whether the schema ends before any bound of nesting
    index_values: Callable[[Node], Iterable[Hashable]] = lambda _obj: ()  # what else than their owners objects are found by
    namespaces: Callable[[OperatorConfiguration], Sequence[str]] = lambda settings: settings.namespace.watched
    pause: float = PROGRESS_SECONDS  # seconds for which changes of status are gathered
    cause: Cause = Cause.IN_PROGRESS  # of passes over what a change concerns beside the object itself


def served(capability: str) -> Callable[[OperatorConfiguration, Known], bool]:
    """Watch where the cluster serves a capability and permits its use."""
    return lambda _, known: known.get(capability) is Presence.USABLE


class Change(NamedTuple):
    """A change of one object: without `old` it is new, without `new` it is gone."""

    old: Node | None
    new: Node | None
    is_own_write: bool = False  # whether it is what the last write of this process gave back

    @property
    def obj(self) -> Node:
        """The object in its last known state."""
        return self.new or self.old or {}

    @property
    def key(self) -> Key:
        """The key of the object."""
        return key_of(self.obj)

    @property
    def exists(self) -> bool:
        """Whether the object was and is there, not made or deleted."""
        return self.old is not None and self.new is not None

    def differs(self, read: Callable[[Node | None], object]) -> bool:
        """Whether `read` gives something else than before."""
        return read(self.old) != read(self.new)


def read_intent(obj: Node | None) -> object:
    """Return the parts that writers other than this process may change."""
    if obj is None:
        return None
    names = ("uid", "generation", "annotations", "labels", "finalizers", "deletionTimestamp")
    return [obj["metadata"].get(name) for name in names], obj.get("spec")


def read_status(obj: Node | None) -> object:
    """The status of an object."""
    return (obj or {}).get("status")
