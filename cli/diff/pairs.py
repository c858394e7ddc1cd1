"""Reads the two sides of a comparison and matches their objects: by kind, namespace and name, whatever their versions."""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from dynamo_webhooks.cli.check.objects import objects
from dynamo_webhooks.cli.check.old import Past, place
from dynamo_webhooks.cli.check.sources import documents, find, is_excluded
from dynamo_webhooks.cli.revision import Trees, below
from dynamo_webhooks.cli.yaml.load import InputError, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.check.live import Live
    from dynamo_webhooks.cli.check.objects import Found, Identity


class Side(NamedTuple):
    """The objects of one side, in order, and what of it could not be read."""

    objects: list[Found]
    unreadable: list[InputError]


class Pair(NamedTuple):
    """One object on both sides, or on one of them."""

    identity: Identity
    old: Found | None
    new: Found | None


def load_side(path: str, excluded: Sequence[str]) -> Side:
    """The objects that a file, a folder, standard input or a path of a git revision (`main:deploy`) holds.

    Raises: UsageError when there is no such revision.
    """
    side = Side([], [])
    for file in _files(path, excluded):
        for one in documents(file, ""):
            if isinstance(one, InputError):
                side.unreadable.append(one)
            else:
                side.objects.extend(objects([one]))
    return side


def with_live(path: str, excluded: Sequence[str], live: Live, line: Line) -> tuple[Side, Side]:
    """The objects of a cluster that files name, and the same with the files applied to them; new ones are on the second side alone.

    What can't be told of a stored object is unreadable there, and the file's object is left out.
    """
    old, files = Side([], []), load_side(path, excluded)
    new = Side([], files.unreadable)
    for one in files.objects:
        past = live.past(one, line) if one.known else Past()
        if isinstance(past, InputError) or past.why:
            old.unreadable.append(past if isinstance(past, InputError) else InputError(past.why, place(one)))
            continue
        stored = live.stored(one.identity)
        if stored is not None and past.applied is not None:
            old.objects.append(stored)
            one.document.data = past.applied
        new.objects.append(one if stored is None else one._replace(identity=stored.identity))
    return old, new


def pairs(old: Iterable[Found], new: Iterable[Found]) -> list[Pair]:
    """Matches the objects, sorted by identity; several of one identity are matched in their order.

    One without a namespace matches the only one of its name on the other side: files often leave the namespace to kubectl.
    """
    olds, news = _numbered(old), _numbered(new)
    found = [Pair(key[0], olds.pop(key), news.pop(key)) for key in [key for key in olds if key in news]]
    alone = _alone(olds)
    for name, key in _alone(news).items():
        other = alone.get(name)
        if other is not None and bool(other[0].namespace) != bool(key[0].namespace):
            found.append(Pair(max(other[0], key[0]), olds.pop(other), news.pop(key)))
    found += [Pair(key[0], one, None) for key, one in olds.items()]
    found += [Pair(key[0], None, one) for key, one in news.items()]
    return sorted(found, key=lambda pair: (pair.identity, pair.new is None))


_Number: TypeAlias = "tuple[Identity, int]"  # with how many of the same identity stood before


def _numbered(found: Iterable[Found]) -> dict[_Number, Found]:
    seen: Counter[Identity] = Counter()
    numbered = {}
    for one in found:
        numbered[one.identity, seen[one.identity]] = one
        seen[one.identity] += 1
    return numbered


def _alone(numbered: Iterable[_Number]) -> dict[tuple[str, str], _Number]:
    """Those whose kind and name occur once."""
    by_name: dict[tuple[str, str], list[_Number]] = {}
    for one in numbered:
        by_name.setdefault((one[0].kind, one[0].name), []).append(one)
    return {name: same[0] for name, same in by_name.items() if len(same) == 1}


def _files(path: str, excluded: Sequence[str]) -> Iterable[str | Source | InputError]:
    if os.path.exists(path) or ":" not in path:  # noqa: PTH110 - pathlib's raises for a path that is too long
        return find([path], excluded)
    revision, _, below = path.partition(":")
    return list(_at(revision, below, excluded)) or [InputError("does not exist in that revision", path)]


def _at(revision: str, path: str, excluded: Sequence[str]) -> Iterator[Source | InputError]:
    """The files of a path as they were in a revision, sorted; their names say so."""
    tree, name = Trees(revision, "the revision").place(path or ".")
    names = {path: name} if name in tree else {posixpath.normpath(f"{path or '.'}/{file}"): full for file, full in below(tree, name)}
    shown = {full: file for file, full in sorted(names.items()) if not is_excluded(file, excluded)}
    for full, text in tree.texts(shown):
        yield text if isinstance(text, InputError) else Source(f"{revision}:{shown[full]}", text)
