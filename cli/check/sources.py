"""Which files a command reads: files, folders, globs, lists of files and standard input, in a stable order; and the documents of one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from cli.exits import UsageError
from cli.files import STDIN, load_text
from cli.yaml.load import Document, InputError, Source, read

SUFFIXES: Final = (".yaml", ".yml", ".json")
_WILD: Final = frozenset("*?[")


def find(paths: Sequence[str], excluded: Sequence[str] = ()) -> list[str | InputError]:
    """Lists the files that the paths mean, each once, as they are to be shown; a path that means nothing is an error in its place.

    Folders are searched for YAML and JSON in sorted order, hidden folders left out; a path that does not exist but holds `*`, `?` or
    `[` is a glob. A file that is named itself is read whatever its suffix.
    """
    found: dict[str, str | InputError] = {}
    for path in paths:
        for file in _expand(path):
            if isinstance(file, InputError):
                found.setdefault(f"\0{file.name}", file)
            elif not _is_excluded(file, excluded):
                found.setdefault(file if file == STDIN else os.path.normpath(file), file)
    return list(found.values())


def listed(file: str) -> list[str]:
    """Reads paths from a file, or from standard input for `-`: one a line, blank lines left out.

    Raises: UsageError when it can't be read.
    """
    try:
        return [line.strip() for line in load_text(file).splitlines() if line.strip()]
    except InputError as error:
        raise UsageError(f"--files-from {error}") from None


def documents(file: str | Source | InputError, stdin_name: str) -> Iterable[Document | InputError]:
    """Reads the documents of a file, or of a text that never was one; what can't be read is an error in its place."""
    if isinstance(file, InputError):
        return [file]
    if isinstance(file, Source):
        return read(file)
    name = stdin_name if file == STDIN and stdin_name else file
    try:
        return read(Source(name, load_text(file, name)))
    except InputError as error:
        return [error]


def _expand(path: str) -> Iterator[str | InputError]:
    if path == STDIN:
        yield path
    elif "\0" in path:
        yield InputError("is not a usable path", path.replace("\0", "\\0"))
    elif os.path.isdir(path):  # noqa: PTH112 - pathlib's raises for a path that is too long
        yield from _folder(path)
    elif _WILD.intersection(path) and not os.path.exists(path):  # noqa: PTH110 - as above
        yield from _glob(path)
    else:
        yield path


def _folder(path: str) -> Iterator[str | InputError]:
    problems: list[OSError] = []
    some = False
    for folder, names, files in os.walk(path, onerror=problems.append):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for file in sorted(files):
            if file.endswith(SUFFIXES):
                some = True
                yield str(Path(folder) / file)
    for problem in problems:
        yield InputError(f"can't be read: {problem.strerror}", str(problem.filename))
    if not some and not problems:
        yield InputError("holds no YAML or JSON files", path)


def _glob(pattern: str) -> Iterator[str | InputError]:
    from glob import glob

    matches = sorted(glob(pattern, recursive=True))  # noqa: PTH207 - pathlib's glob takes no absolute patterns
    if not matches:
        yield InputError("matches no files", pattern)
    for match in matches:
        if Path(match).is_dir():
            continue
        yield match


def _is_excluded(file: str, patterns: Sequence[str]) -> bool:
    parts = Path(file).parts
    return any(fnmatch(file, pattern) or any(fnmatch(part, pattern) for part in parts) for pattern in patterns)
