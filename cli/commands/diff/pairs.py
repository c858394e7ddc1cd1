"""Reads the two sides of a comparison and matches their objects: by kind, namespace and name, whatever their versions."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, NamedTuple

from ...files.documents import read_documents
from ...files.find import find_files, is_excluded
from ...files.revision import Trees, below
from ...objects.manifest import Identity, Manifest, Placed, find_manifests, pair_up, place_in
from ...objects.stored import Previous, format_place
from ...yaml.load import InputError, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ....api.line import Line
    from ...objects.cluster_snapshot import Live


class Side(NamedTuple):
    """The objects of one side, in order, and what of it could not be read; `path` holds its files, in a revision of git or today."""

    objects: list[Manifest]
    unreadable: list[InputError]
    revision: str = ""
    path: str = ""

    def file(self, found: Manifest) -> str:
        """The file of an object, from the side's path."""
        return os.path.relpath(found.document.source.name.removeprefix(f"{self.revision}:"), self.path or ".")


class Pair(NamedTuple):
    """One object on both sides, or on one of them."""

    identity: Identity
    old: Manifest | None
    new: Manifest | None


def load_side(path: str, excluded: Sequence[str]) -> Side:
    """The objects that a file, a folder, standard input or a path of a git revision (`main:deploy`) holds.

    Raises: UsageError when there is no such revision.
    """
    side = Side([], [], *_split(path))
    for file in _files(path, excluded):
        for one in read_documents(file, ""):
            if isinstance(one, InputError):
                side.unreadable.append(one)
            else:
                side.objects.extend(find_manifests([one]))
    return side


def path_of(name: str) -> str:
    """The path of a file, which may be one of a revision, `main:deploy/a.yaml`."""
    return _split(name)[1]


def with_live(path: str, excluded: Sequence[str], live: Live, place: Callable[[str], tuple[str, Line]]) -> tuple[Side, Side]:
    """The stored objects that files name, and the same with the files applied; new objects are on the second side only.

    A stored object that can't be read is unreadable there, and the file's object is left out. `place` gives the namespace of objects
    that name none in a file, and the line of its operator.
    """
    old, files = Side([], []), load_side(path, excluded)
    new = Side([], files.unreadable)
    for written in files.objects:
        namespace, line = place(written.document.source.name)
        one = place_in(written, namespace)
        past = live.past(one, line) if one.known else Previous()
        if isinstance(past, InputError) or past.why:
            old.unreadable.append(past if isinstance(past, InputError) else InputError(past.why, format_place(one)))
            continue
        stored = live.stored(one.identity)
        if stored is not None and past.applied is not None:
            old.objects.append(stored)
            one.document.data = past.applied
        new.objects.append(one if stored is None else one._replace(identity=stored.identity))
    return old, new


def pairs(old: Side, new: Side) -> list[Pair]:
    """Matches the objects, sorted by identity; several of one identity are matched by file, else in their order.

    One without a namespace matches the only one of its name on the other side: files often leave the namespace to kubectl.
    """
    sides = ([Placed(side.file(one), one.identity, one) for one in side.objects] for side in (old, new))
    found, olds, news = [], [], []
    for was, now in pair_up(*sides):
        if was is not None and now is not None:
            found.append(Pair(was.value.identity, was.value, now.value))
        elif was is not None:
            olds.append(was.value)
        elif now is not None:
            news.append(now.value)
    alone, matched = _alone(olds), set()
    for name, theirs in _alone(news).items():
        mine = alone.get(name)
        if mine is not None and bool(mine.identity.namespace) != bool(theirs.identity.namespace):
            found.append(Pair(max(mine.identity, theirs.identity), mine, theirs))
            matched |= {id(mine), id(theirs)}
    found += [Pair(one.identity, one, None) for one in olds if id(one) not in matched]
    found += [Pair(one.identity, None, one) for one in news if id(one) not in matched]
    return sorted(found, key=lambda pair: (pair.identity, pair.new is None))


def _alone(found: Iterable[Manifest]) -> dict[tuple[str, str], Manifest]:
    """Those whose kind and name occur once."""
    by_name: dict[tuple[str, str], list[Manifest]] = {}
    for one in found:
        by_name.setdefault((one.identity.kind, one.identity.name), []).append(one)
    return {name: same[0] for name, same in by_name.items() if len(same) == 1}


def _split(path: str) -> tuple[str, str]:
    """The revision of git that a path is in, empty for none, and the path there."""
    if os.path.exists(path) or ":" not in path:  # noqa: PTH110 - pathlib's raises for a path that is too long
        return "", path
    revision, _, below = path.partition(":")
    return revision, below


def _files(path: str, excluded: Sequence[str]) -> Iterable[str | Source | InputError]:
    revision, below = _split(path)
    if not revision and below == path:
        return find_files([path], excluded)
    return list(_at(revision, below, excluded)) or [InputError("does not exist in that revision", path)]


def _at(revision: str, path: str, excluded: Sequence[str]) -> Iterator[Source | InputError]:
    """The files of a path in a revision, sorted; their names include the revision."""
    tree, name = Trees(revision, "the revision").place(path or ".")
    names = {path: name} if name in tree else {posixpath.normpath(f"{path or '.'}/{file}"): full for file, full in below(tree, name)}
    shown = {full: file for file, full in sorted(names.items()) if not is_excluded(file, excluded)}
    for full, text in tree.texts(shown):
        yield text if isinstance(text, InputError) else Source(f"{revision}:{shown[full]}", text)
