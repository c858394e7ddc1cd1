"""The stored objects of `--against`: those that a git revision holds, in whichever file and version.

The stored object is the one of the same identity in the same file. An object that its file did not hold has moved if the revision holds
one of its identity that has left its own file since; copies that stay where they are (overlays of one graph) are not it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ...api.kinds import GROUP
from ...api.line import Line
from ..console.exits import UsageError
from ..files.documents import read_documents
from ..files.find import is_text
from ..files.read import STDIN
from ..files.revision import FLAG, GitTree, GitTrees
from ..yaml.load import InputError, Source, read_text
from .manifest import Identity, Manifest, find_manifests
from .stored import StoredObject, format_location, read_other_version, store_as


class _File(NamedTuple):
    """The objects of one file, and what of it can't be read."""

    objects: list[Manifest]
    broken: list[InputError]


class StoredInGit:
    """Finds stored objects in the files of a revision; reads each file once, on demand."""

    has_namespaces: Final = False

    def __init__(self, revision: str, files: Sequence[str]) -> None:
        """`files` are all that the run reads. Raises: UsageError when one is in no repository, or that lacks the revision."""
        if STDIN in files:
            raise UsageError(f"{FLAG} {revision}: standard input was in no revision; name the files")
        trees = GitTrees(revision)
        self._locations = {file: trees.locate(file) for file in files}
        self._repositories: dict[GitTree, _Repository] = {}
        for tree, name in self._locations.values():
            self._repositories.setdefault(tree, _Repository(tree)).expect(name)

    def find_stored(self, new: Manifest, line: Line) -> StoredObject:
        """The object in the revision. One that can't be read is reported, and is no error: the new one is checked alone."""
        tree, name = self._locations[new.document.source.name]
        repository = self._repositories[tree]
        before = repository.file(name)
        candidates = [obj for obj in before.objects if obj.identity == new.identity] or repository.moved(new.identity)
        if not candidates:
            return StoredObject(None, f"{before.broken[0]}, so its past is not known" if before.broken else "")
        if any(obj.data != candidates[0].data for obj in candidates):
            where = " and ".join(map(format_location, candidates[:2])) + " and more" * (len(candidates) > 2)
            return StoredObject(None, f"{tree.revision} holds {len(candidates)} different objects of this name, at {where}")
        old = candidates[0]
        stored = store_as(old, new.version, line)
        if isinstance(stored, InputError):
            return StoredObject(None, str(stored))
        return StoredObject(stored, original=read_other_version(old, new.version))


class _Repository:
    """The objects of one repository at the revision."""

    def __init__(self, tree: GitTree) -> None:
        self._tree = tree
        self._expected: set[str] = set()
        self._texts: dict[str, str | InputError] | None = None
        self._last: tuple[str, _File] = "", _File([], [])  # a run asks for all objects of a file in a row
        self._left: dict[Identity, list[Manifest]] | None = None

    def expect(self, name: str) -> None:
        """Says that a file will be asked for, so that git is called once for all of them."""
        self._expected.add(name)

    def file(self, name: str) -> _File:
        """A file as it was; empty if it wasn't there."""
        if self._texts is None:
            self._texts = dict(self._tree.texts(sorted(self._expected)))
        if name != self._last[0]:
            self._last = name, _read(self._tree.display_name(name), self._texts.get(name, ""))
        return self._last[1]

    def moved(self, identity: Identity) -> list[Manifest]:
        """The objects of an identity that were in some file and are there no more; files that can't be read say nothing."""
        if self._left is None:
            self._left = {}
            names = [name for name in self._tree if is_text(name)]
            for name, text in self._tree.texts(names, holding=GROUP):
                for obj in _gone(_read(self._tree.display_name(name), text).objects, f"{self._tree.root}/{name}"):
                    self._left.setdefault(obj.identity, []).append(obj)
        return self._left.get(identity, [])


def _read(name: str, text: str | InputError) -> _File:
    if isinstance(text, InputError):
        return _File([], [text])
    documents = [*read_text(Source(name, text))]
    readable = [document for document in documents if not isinstance(document, InputError)]
    broken = [document for document in documents if isinstance(document, InputError)]
    return _File([obj for obj in find_manifests(readable) if obj.known], broken)


def _gone(before: list[Manifest], file: str) -> Iterator[Manifest]:
    """The objects that a file no longer contains; none if the file exists and can't be read."""
    if not before:
        return
    today = [*read_documents(file, "")]
    readable = [document for document in today if not isinstance(document, InputError)]
    if len(readable) < len(today) and Path(file).exists():
        return
    kept = {obj.identity for obj in find_manifests(readable)}
    yield from (obj for obj in before if obj.identity not in kept)
