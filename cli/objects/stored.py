"""The stored objects that updates are compared with: read from files, found by identity, made what a server would hold."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from ...api.line import Line
from ...policies.review import Fields
from ..console.exits import UsageError
from ..files.documents import read_documents
from ..files.find import find_files
from ..yaml.load import InputError
from .manifest import Identity, Manifest, find_manifests


class StoredObject(NamedTuple):
    """The stored object as the server would hand it to the webhooks; without one the request creates."""

    object: Fields | None = None
    reason: str = ""  # why no update could be judged, where there may have been an object
    original: Fields | None = None  # the object as it was written, where that was in another version
    applied: Fields | None = None  # the new one with what stays of the stored object, where it would be applied to that
    server_side: bool = False  # by the server
    in_cluster: bool = False  # whether a cluster holds it


class StoredObjects(Protocol):
    """Source of the stored objects of a run."""

    @property
    def has_namespaces(self) -> bool:
        """Whether every stored object names its namespace, as in a cluster."""

    def find_stored(self, new: Manifest, line: Line) -> StoredObject | InputError:
        """The stored object, or why the new one can't be checked against it."""


class StoredInFiles:
    """The stored objects of `--old`, by identity; each is made ready once."""

    has_namespaces: Final = False

    def __init__(self, manifests: Iterable[Manifest], *, required: bool = False) -> None:
        """`required`: an object without a stored one can't be judged. Raises: UsageError when one object is there twice."""
        self._manifests: dict[Identity, Manifest] = {}
        self._ready: dict[tuple[Identity, str], Fields | InputError] = {}
        self._required = required
        for manifest in manifests:
            first = self._manifests.setdefault(manifest.identity, manifest)
            if first is not manifest:
                raise UsageError(f"--old holds {manifest.identity} twice, at {format_location(first)} and {format_location(manifest)}")

    def __contains__(self, identity: Identity) -> bool:
        """Whether there is an old object of that identity, in whichever version."""
        return identity in self._manifests

    def find_stored(self, new: Manifest, line: Line) -> StoredObject | InputError:
        """The old object of the same identity; to one that comes from a cluster, files are applied."""
        if new.identity not in self and not self._required:
            return StoredObject()
        stored = self.of(new, line)
        if isinstance(stored, InputError):
            return stored
        old = self._manifests[new.identity]
        if is_live(old) and not is_live(new):
            return apply_to(old.data, stored, new)
        return StoredObject(stored, original=read_other_version(old, new.version), in_cluster=is_live(old))

    def of(self, new: Manifest, line: Line) -> Fields | InputError:
        """The old object as the server would hold it, or why there is none to compare with."""
        old = self._manifests.get(new.identity)
        if old is None:
            at, column, _ = new.document.position(())
            return InputError(f"{new.identity} has no old object in --old", new.document.source.name, at, column)
        key = new.identity, new.version
        if key not in self._ready:
            self._ready[key] = store_as(old, new.version, line)
        return self._ready[key]


def read_other_version(old: Manifest, version: str) -> Fields | None:
    """An old object as it was written, where that was in another version."""
    return old.data if old.version != version else None


def is_live(manifest: Manifest) -> bool:
    """Whether an object comes from a cluster, as `kubectl get -o yaml` prints it."""
    metadata = manifest.data.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("uid") or metadata.get("resourceVersion"))


def apply_to(live: Fields, stored: Fields, new: Manifest) -> StoredObject:
    """The stored object of a file that kubectl applies to an object of a cluster, `stored` in the file's version."""
    from .apply import is_server_side, simulate_apply

    applied = simulate_apply(new.data, stored, live, new.identity.kind)
    return StoredObject(stored, applied=applied, server_side=is_server_side(live), in_cluster=True)


def format_location(manifest: Manifest) -> str:
    """The file and line where an object begins."""
    return f"{manifest.document.source.name}:{manifest.document.position(()).line}"


def store_as(old: Manifest, version: str, line: Line) -> Fields | InputError:
    """An old object as the server would hand it to the webhooks beside a new one of a version, or why it can't be; never changes `old`."""
    from .forms import FormError, convert, decode

    try:
        decoded = decode(old.data, line)
        return decoded if old.version == version else convert(decoded, version, line)
    except FormError as error:
        at, column, _ = old.document.value_position(error.path)
        wrong = error.errors
        text = f"can't be read: {wrong[0].field}: {wrong[0].message}" if wrong else f"can't be converted to {version}: {error.reason}"
        return InputError(f"the old object {text}", old.document.source.name, at, column)


def load_stored(paths: Sequence[str], *, required: bool = False) -> StoredInFiles:
    """Reads the old objects. Raises: UsageError when one can't be read: without it every verdict would be about something else."""
    manifests: list[Manifest] = []
    for file in find_files(paths):
        for document in read_documents(file, ""):
            if isinstance(document, InputError):
                raise UsageError(f"--old {document}")
            manifests += [manifest for manifest in find_manifests([document]) if manifest.known]
    return StoredInFiles(manifests, required=required)
