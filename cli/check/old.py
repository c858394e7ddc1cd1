"""The stored objects that updates are compared with: read from files, found by identity, made what a server would hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from api.kinds import api_version
from cli.check.objects import Found, Identity, objects
from cli.check.pipeline import prepared
from cli.check.sources import documents, find
from cli.exits import UsageError
from cli.yaml.load import InputError
from policies.review import Fields


class Old:
    """The stored objects of an update, by identity; each is made ready once."""

    def __init__(self, found: Iterable[Found]) -> None:
        """Raises: UsageError when one object is there twice."""
        self._found: dict[Identity, Found] = {}
        self._ready: dict[Identity, Fields | InputError] = {}
        for one in found:
            if one.identity in self._found:
                raise UsageError(f"--old holds {one.identity} twice")
            self._found[one.identity] = one

    def __contains__(self, identity: Identity) -> bool:
        """Whether there is an old object of that identity, in whichever version."""
        return identity in self._found

    def of(self, new: Found) -> Fields | InputError:
        """The old object as the server would hold it, or why there is none to compare with."""
        ready = self._ready.get(new.identity)
        if ready is None:
            ready = self._ready[new.identity] = self._load(new)
        return ready

    def _load(self, new: Found) -> Fields | InputError:
        old = self._found.get(new.identity)
        line, column, _ = new.document.position(())
        name = new.document.source.name
        if old is None:
            return InputError(f"{new.identity} has no old object in --old", name, line, column)
        data, errors = prepared(old.data, old.identity.kind, old.version)
        if errors:
            line, column, _ = old.document.value_position(errors[0].path)
            text = f"the old object can't be read: {errors[0].field}: {errors[0].message}"
            return InputError(text, old.document.source.name, line, column)
        return data if old.version == new.version else _in_version(data, old, new.version)


def _in_version(data: Fields, old: Found, version: str) -> Fields | InputError:
    """The old object in the new one's version, as the server would hand it to the webhooks."""
    from conversion.lens.protocol import ConversionError
    from conversion.objects import convert_object, target

    try:
        return convert_object(data, target(api_version(version))).object
    except ConversionError as error:
        line, column, _ = old.document.value_position(error.path)
        return InputError(f"the old object can't be converted to {version}: {error.reason}", old.document.source.name, line, column)


def load_old(paths: Sequence[str]) -> Old:
    """Reads the old objects.

    Raises: UsageError when a file can't be read: without it every verdict would be about something else.
    """
    found: list[Found] = []
    for file in find(paths):
        for document in documents(file, ""):
            if isinstance(document, InputError):
                raise UsageError(f"--old {document}")
            found += [one for one in objects([document]) if one.known]
    return Old(found)
