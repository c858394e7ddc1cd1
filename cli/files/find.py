"""Which files a command reads: files, folders, globs, lists of files and standard input, in a stable order."""

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from itertools import takewhile
from typing import Final

from ..console.exits import UsageError
from ..console.output import write_stderr
from ..yaml.load import InputError
from .read import STDIN, is_within, list_folders_above, load_bytes

SUFFIXES: Final = (".yaml", ".yml", ".json")
CHART: Final = "Chart.yaml"  # in a folder whose files are templates of Helm
_WILD: Final = frozenset("*?[")


def find_files(paths: Sequence[str], excluded: Sequence[str] = ()) -> list[str | InputError]:
    """Lists the files that the paths mean, each once, as they are to be shown; a path that means nothing is an error in its place.

    Folders are searched for YAML and JSON in sorted order, hidden folders and links to folders left out. A link that leads out of the
    repository, or out of the folder where there is none, is an error: its author need not be its reader. A path that does not exist but
    holds `*`, `?` or `[` is a glob. A file that is named itself is read whatever its suffix. One that several paths lead to keeps its
    first name.
    """
    files: dict[object, str | InputError] = {}
    for path in paths:
        for file in _expand(path, excluded):
            files.setdefault(_key(file), file)
    return list(files.values())


def is_text(name: str) -> bool:
    """Whether a file's name says that it is YAML or JSON."""
    return name.lower().endswith(SUFFIXES)


def read_file_list(file: str) -> list[str]:
    """Reads paths from a file or standard input: one a line, or between zero bytes; blank ones left out. Raises: UsageError."""
    try:
        data = load_bytes(file).removeprefix(b"\xef\xbb\xbf")
    except InputError as error:
        raise UsageError(f"--files-from {error}") from None
    if b"\0" in data:
        return [os.fsdecode(name) for name in data.split(b"\0") if name]
    return [name for line in data.split(b"\n") if (name := os.fsdecode(line).strip())]


def is_excluded(file: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern matches the file, one of its folders, or a part of its path."""
    if not patterns:
        return False
    parts = os.path.normpath(file).split("/")  # pathlib would take longer to import than the file to check
    ways = {"/".join(parts[:end]) for end in range(1, len(parts) + 1)}.union(parts)
    return any(fnmatch(way, os.path.normpath(pattern)) for pattern in patterns for way in ways)


def _key(file: str | InputError) -> object:
    """The part that all names of a file share."""
    if isinstance(file, InputError):
        return ("", file.name, file.text)
    if file == STDIN:
        return file
    try:
        status = os.stat(file)  # noqa: PTH116 - pathlib's is slow, and this is asked of every file
    except (OSError, ValueError):
        return os.path.normpath(file)
    # some file systems number nothing
    return (status.st_dev, status.st_ino) if status.st_ino else os.path.normpath(file)


def _expand(path: str, excluded: Sequence[str]) -> Iterator[str | InputError]:
    if path == STDIN:
        yield path
    elif not path or "\0" in path:
        yield InputError("is not a usable path", path or '""')
    elif os.path.isdir(path):  # noqa: PTH112 - pathlib's raises for a path that is too long
        files = [*_folder(path)]
        yield from _leave_out(files, excluded)
        if not files and not os.path.exists(os.path.join(path, CHART)):  # noqa: PTH110, PTH118 - as below
            yield InputError("holds no YAML or JSON files", path)
    elif _WILD.intersection(path) and not os.path.lexists(path):
        yield from _glob(path, excluded)
    elif not is_excluded(path, excluded):
        yield path


def _leave_out(files: Iterable[str | InputError], excluded: Sequence[str]) -> Iterator[str | InputError]:
    return (file for file in files if not is_excluded(file.name if isinstance(file, InputError) else file, excluded))


def _folder(path: str) -> Iterator[str | InputError]:
    """The files below a folder, those of each folder before those of its folders. Links to folders may lead in circles."""
    waiting = [path]  # folders may lie deeper in each other than calls may
    while waiting:
        below = yield from _one_folder(waiting.pop(), path)
        waiting += reversed(below)


def _one_folder(path: str, top: str) -> Generator[str | InputError, None, list[str]]:
    """The files of one folder, of those below `top`; returns the folders in it."""
    try:
        entries = _entries(path)
    except OSError as error:
        denied = isinstance(error, PermissionError)
        yield InputError("may not be read (permission denied)" if denied else f"can't be read: {error.strerror}", path)
        return []
    if any(entry.name == CHART for entry in entries):
        write_stderr(f"{path}: is a Helm chart, and is skipped; check its output: helm template {path} | dynamo-webhooks check -")
        return []
    shown = os.path.join(_plain(path), "").removeprefix("./")  # noqa: PTH118 - as below
    for entry in entries:
        if not is_text(entry.name) or _is_folder(entry):
            continue
        if _is_file(entry):
            yield _inside(shown + entry.name, top) if entry.is_symlink() else shown + entry.name
        else:
            yield InputError("is a pipe, a socket or a device; name it itself if it is to be read", shown + entry.name)
    below = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            below.append(_plain(entry.path))
        else:
            _tell_of_link_out(entry)
    return below


def _inside(file: str, top: str) -> str | InputError:
    """A file that a search below a folder has found, or an error where its links lead out of what the search may look at."""
    bound = os.path.realpath(top or ".")
    repository = next((folder for folder in list_folders_above(bound) if os.path.lexists(os.path.join(folder, ".git"))), "")  # noqa: PTH118 - as below
    if is_within(os.path.realpath(file), repository or bound):
        return file
    return InputError(f"is a link out of the {'repository' if repository else 'folder'}; name it itself if it is to be read", file)


def _glob(pattern: str, excluded: Sequence[str]) -> Iterator[str | InputError]:
    from pathlib import Path  # here and below: a check of one file would wait longer for its import than for the file

    anchor = Path(pattern).anchor
    parts = pattern[len(anchor) :].split("/")
    top = os.path.join(anchor, *takewhile(lambda part: not _WILD.intersection(part), parts[:-1]))  # noqa: PTH118 - as below
    some = False
    for match in match_parts(anchor, parts):
        some = True
        file = _inside(match, top)
        if isinstance(file, str) and os.path.isdir(match):  # noqa: PTH112 - as above
            yield from _leave_out(_folder(match), excluded)
        elif not is_excluded(match, excluded):
            yield file
    if not some:
        yield InputError("matches no files", pattern)


def match_parts(folder: str, parts: Sequence[str]) -> Iterator[str]:
    """Paths below a folder that match a glob, sorted; `**` is any number of folders, and follows no links: they may lead in circles."""
    part, rest = parts[0], parts[1:]
    if part == "**" and not rest:
        yield folder or "."
    elif part == "**":
        yield from match_parts(folder, rest)
        for entry in _listed(folder):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from match_parts(_plain(entry.path), parts)
            else:
                _tell_of_link_out(entry)
    elif not _WILD.intersection(part):
        path = os.path.join(folder, part)  # noqa: PTH118 - keeps `.` and `..` as written
        if rest:
            yield from match_parts(path, rest)
        elif os.path.lexists(path):
            yield path
    else:
        for entry in _listed(folder):
            hidden = entry.name.startswith(".") and not part.startswith(".")
            if not hidden and fnmatch(entry.name, part) and (not rest or _is_folder(entry)):
                path = _plain(entry.path)
                yield from match_parts(path, rest) if rest else [path]


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        return _entries(folder or ".")
    except OSError:
        return []


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether a read of it ends: not a pipe or device. A broken link is reported when it is read."""
    try:
        return entry.is_file() or not os.path.exists(entry.path)  # noqa: PTH110 - pathlib's raises for a path that is too long
    except OSError:
        return True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _tell_of_link_out(entry: os.DirEntry[str]) -> None:
    """Says that a link to a folder outside its own is skipped: the files there may be found nowhere else."""
    if not entry.is_symlink() or entry.name.startswith(".") or not _is_folder(entry):
        return
    here, there = os.path.realpath(os.path.dirname(entry.path) or "."), os.path.realpath(entry.path)  # noqa: PTH120 - pathlib is slow here
    if os.path.commonpath((here, there)) not in (here, there):
        write_stderr(f"{_plain(entry.path)}: is a link to a folder, and is skipped; name it itself if it is to be read")


def _plain(path: str) -> str:
    """A path without needless dots and slashes; asked once for a folder, because it takes longer than to read a file's name."""
    from pathlib import Path

    return str(Path(path))
