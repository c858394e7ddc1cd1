"""The stored objects that updates are compared with: read from files, found by identity, made what a server would hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dynamo_webhooks.admission.pipeline import prepared
from dynamo_webhooks.api.kinds import api_version
from dynamo_webhooks.cli.check.objects import Found, Identity, objects
from dynamo_webhooks.cli.check.sources import documents, find
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.yaml.load import InputError
from dynamo_webhooks.policies.review import Fields

if TYPE_CHECKING:
    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.yaml.fill import Fill


class Past(NamedTuple):
    """The stored object as the server would hand it to the webhooks; without one the request creates.

    `why` says why no update could be judged, where there may have been an object. `moved` is the object as it was written where that was
    in another version. `applied` is what the new one would be with what stays of the stored object, where it would be applied to that.
    """

    object: Fields | None = None
    why: str = ""
    moved: Fields | None = None
    applied: Fields | None = None


class Olds(Protocol):
    """Where a run finds the stored objects."""

    def past(self, new: Found, line: Line) -> Past | InputError:
        """What was stored of an object before, or why the object can't be judged at all."""


class Old:
    """The stored objects of `--old`, by identity; each is made ready once."""

    def __init__(self, found: Iterable[Found], *, required: bool = False) -> None:
        """`required`: an object that has no past can't be judged. Raises: UsageError when one object is there twice."""
        self._found: dict[Identity, Found] = {}
        self._ready: dict[tuple[Identity, str], Fields | InputError] = {}
        self._required = required
        for one in found:
            first = self._found.setdefault(one.identity, one)
            if first is not one:
                raise UsageError(f"--old holds {one.identity} twice, at {place(first)} and {place(one)}")

    def __contains__(self, identity: Identity) -> bool:
        """Whether there is an old object of that identity, in whichever version."""
        return identity in self._found

    def past(self, new: Found, line: Line) -> Past | InputError:
        """The old object of the same identity."""
        if new.identity not in self and not self._required:
            return Past()
        found = self.of(new, line)
        return found if isinstance(found, InputError) else Past(found, moved=moved(self._found[new.identity], new.version))

    def of(self, new: Found, line: Line) -> Fields | InputError:
        """The old object as the server would hold it, or why there is none to compare with."""
        old = self._found.get(new.identity)
        if old is None:
            at, column, _ = new.document.position(())
            return InputError(f"{new.identity} has no old object in --old", new.document.source.name, at, column)
        key = new.identity, new.version
        if key not in self._ready:
            self._ready[key] = as_stored(old, new.version, line)
        return self._ready[key]


def moved(old: Found, version: str) -> Fields | None:
    """An old object as it was written, where that was in another version."""
    return old.data if old.version != version else None


def place(found: Found) -> str:
    """The file and line where an object begins."""
    return f"{found.document.source.name}:{found.document.position(()).line}"


def as_stored(old: Found, version: str, line: Line) -> Fields | InputError:
    """An old object as the server would hand it to the webhooks beside a new one of a version, or why it can't be; never changes `old`."""
    from copy import deepcopy

    data = deepcopy(old.data)
    if errors := prepared(data, old.identity.kind, old.version, line):
        at, column, _ = old.document.value_position(errors[0].path)
        text = f"the old object can't be read: {errors[0].field}: {errors[0].message}"
        return InputError(text, old.document.source.name, at, column)
    return data if old.version == version else _in_version(data, old, version, line)


def _in_version(data: Fields, old: Found, version: str, line: Line) -> Fields | InputError:
    """The old object in the new one's version, as the server would hand it to the webhooks."""
    from dynamo_webhooks.conversion.lens.protocol import ConversionError
    from dynamo_webhooks.conversion.objects import convert_object, target

    try:
        return convert_object(data, target(api_version(version), line), whole=True).object
    except ConversionError as error:
        at, column, _ = old.document.value_position(error.path)
        return InputError(f"the old object can't be converted to {version}: {error.reason}", old.document.source.name, at, column)


def load_old(paths: Sequence[str], *, required: bool = False, fill: Fill | None = None) -> Old:
    """Reads the old objects; `fill` has values for their placeholders.

    Raises: UsageError when a file can't be read: without it every verdict would be about something else.
    """
    found: list[Found] = []
    for file in find(paths):
        for document in documents(file, "", fill=fill):
            if isinstance(document, InputError):
                raise UsageError(f"--old {document}")
            found += [one for one in objects([document]) if one.known]
    return Old(found, required=required)
