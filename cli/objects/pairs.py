"""Matches the values of two sides."""

from collections import deque
from collections.abc import Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class FileValue(NamedTuple, Generic[T]):
    """A value with its file, and what identifies it there: kind, namespace and name may occur in several files, as in overlays."""

    file: str
    key: Hashable
    value: T


def pair_up(old: Iterable[FileValue[T]], new: Iterable[FileValue[T]]) -> list[tuple[FileValue[T] | None, FileValue[T] | None]]:
    """Both sides of each value: of the same key and file, else of the same key, in order; those of `new`, then what of `old` is left."""
    left, news = dict(enumerate(old)), list(new)
    partners: list[FileValue[T] | None] = [None] * len(news)
    for same in (lambda value: (value.key, value.file), lambda value: value.key):
        waiting: dict[Hashable, deque[int]] = {}
        for number, placed in left.items():
            waiting.setdefault(same(placed), deque()).append(number)
        for index, placed in enumerate(news):
            if partners[index] is None and (queue := waiting.get(same(placed))):
                partners[index] = left.pop(queue.popleft())
    return [*zip(partners, news, strict=True), *((value, None) for value in left.values())]
