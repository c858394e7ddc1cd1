"""Which files a command reads: files, folders, globs, lists of files and standard input, in a stable order; and the documents of one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.kinds import GROUP
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.files import STDIN, load_bytes, load_text
from dynamo_webhooks.cli.output import say
from dynamo_webhooks.cli.yaml.errors import ForeignInputError
from dynamo_webhooks.cli.yaml.load import Document, InputError, Source, read

if TYPE_CHECKING:
    from dynamo_webhooks.cli.yaml.fill import Fill

SUFFIXES: Final = (".yaml", ".yml", ".json")
CHART: Final = "Chart.yaml"  # in a folder whose files are templates of Helm
_WILD: Final = frozenset("*?[")
_TEMPLATE: Final = r"(?m)^[ \t]*(?:- +)*(?:[\w./-]+: +)?(\{\{[^\n]*?\}\})"  # where a value begins, not inside of quotes


def find(paths: Sequence[str], excluded: Sequence[str] = ()) -> list[str | InputError]:
    """Lists the files that the paths mean, each once, as they are to be shown; a path that means nothing is an error in its place.

    Folders are searched for YAML and JSON in sorted order, hidden folders and links to folders left out; a link that leads elsewhere is
    said. A path that does not exist but holds `*`, `?` or `[` is a glob. A file that is named itself is read whatever its suffix. One
    that several paths lead to keeps its first name.
    """
    found: dict[object, str | InputError] = {}
    for path in paths:
        for file in _expand(path, excluded):
            found.setdefault(_key(file), file)
    return list(found.values())


def is_text(name: str) -> bool:
    """Whether a file's name says that it is YAML or JSON."""
    return name.lower().endswith(SUFFIXES)


def listed(file: str) -> list[str]:
    """Reads paths from a file, or from standard input for `-`: one a line, or between zero bytes; blank ones left out.

    Raises: UsageError when it can't be read.
    """
    try:
        data = load_bytes(file).removeprefix(b"\xef\xbb\xbf")
    except InputError as error:
        raise UsageError(f"--files-from {error}") from None
    if b"\0" in data:
        return [os.fsdecode(name) for name in data.split(b"\0") if name]
    return [name for line in data.split(b"\n") if (name := os.fsdecode(line).strip())]


def documents(
    file: str | Source | InputError, stdin_name: str, *, lenient: bool = False, fill: Fill | None = None
) -> Iterable[Document | InputError]:
    """Reads the documents of a file, or of a text that never was one; what can't be read is an error in its place.

    `lenient`: an error in a file that names our group nowhere is a ForeignInputError. `fill` has values for placeholders.
    """
    if isinstance(file, InputError):
        return [file]
    if isinstance(file, Source):
        return _read(Source(file.name, file.text, fill))
    name = stdin_name if file == STDIN and stdin_name else file
    try:
        text = load_text(file, name)
    except InputError as error:
        return [error]
    found = _read(Source(name, text, fill))
    return map(_foreign, found) if lenient and GROUP not in text and file != STDIN else found


def _read(source: Source) -> Iterator[Document | InputError]:
    """The documents of a text; what can't be read of a template is one error, however many there are."""
    told = asked = False
    template: re.Match[str] | None = None
    for one in read(source):
        if isinstance(one, InputError) and not asked:  # once, because a file may hold thousands of broken documents
            template, asked = re.search(_TEMPLATE, source.text), True
        if not isinstance(one, InputError):
            yield one
        elif template is None:
            one.text = one.text if source.fill is None else source.fill.masked(one.text, source.text)
            yield one
        elif not told:
            told = True
            line = source.text.count("\n", 0, template.start(1)) + 1
            text = f"is a template ({shortened(template[1], 60)} on line {line})"
            if chart := _chart_of(source.name):
                passed = f"{text} of a Helm chart, and is passed over; check what it renders with check --helm {chart}"
                yield ForeignInputError(passed, one.name, one.line, one.column)
            else:
                yield InputError(f"{text}; render it first, for example with --helm DIR", one.name, one.line, one.column)


def _chart_of(file: str) -> str:
    """The folder of the chart that a file belongs to, as the file is named; empty where it belongs to none."""
    folder = os.path.dirname(file)  # noqa: PTH120 - as below
    while folder and not os.path.exists(os.path.join(folder, CHART)):  # noqa: PTH110, PTH118 - as below
        above = os.path.dirname(folder)  # noqa: PTH120 - as below
        folder = above if above != folder else ""
    return folder


def _foreign(found: Document | InputError) -> Document | InputError:
    """What a file gives that names our group nowhere: a document of others that can't be read is no failure."""
    return ForeignInputError.of(found) if isinstance(found, InputError) and not isinstance(found, ForeignInputError) else found


def is_excluded(file: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern means the file, a folder that it lies in, or a part of its path."""
    if not patterns:
        return False
    parts = os.path.normpath(file).split("/")  # pathlib would take longer to import than the file to check
    ways = {"/".join(parts[:end]) for end in range(1, len(parts) + 1)}.union(parts)
    return any(fnmatch(way, os.path.normpath(pattern)) for pattern in patterns for way in ways)


def _key(file: str | InputError) -> object:
    """What is the same for all names of a file."""
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
    elif not path:
        yield InputError("is not a usable path", '""')
    elif "\0" in path:
        yield InputError("is not a usable path", path)
    elif os.path.isdir(path):  # noqa: PTH112 - pathlib's raises for a path that is too long
        yield from _searched(path, excluded)
    elif _WILD.intersection(path) and not os.path.lexists(path):
        yield from _glob(path, excluded)
    elif not is_excluded(path, excluded):
        yield path


def _searched(path: str, excluded: Sequence[str]) -> Iterator[str | InputError]:
    some = False
    for file in _folder(path):
        some = True
        if not is_excluded(file.name if isinstance(file, InputError) else file, excluded):
            yield file
    if not some and not os.path.exists(os.path.join(path, CHART)):  # noqa: PTH110, PTH118 - as below
        yield InputError("holds no YAML or JSON files", path)


def _folder(path: str) -> Iterator[str | InputError]:
    """The files below a folder, those of each folder before those of its folders. Links to folders may lead in circles."""
    try:
        entries = _entries(path)
    except PermissionError:
        yield InputError("may not be read (permission denied)", path)
        return
    except OSError as error:
        yield InputError(f"can't be read: {error.strerror}", path)
        return
    if any(entry.name == CHART for entry in entries):
        say(f"{path}: is a Helm chart, and is passed over; check what it renders with check --helm {path}")
        return
    shown = os.path.join(_plain(path), "").removeprefix("./")  # noqa: PTH118 - as below
    for entry in entries:
        if not is_text(entry.name) or _is_folder(entry):
            continue
        if _is_file(entry):
            yield shown + entry.name
        else:
            yield InputError("is a pipe, a socket or a device; name it itself if it is to be read", shown + entry.name)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _folder(_shown(entry))
        elif _leads_out(entry):
            _tell_of_link(entry)


def _glob(pattern: str, excluded: Sequence[str]) -> Iterator[str | InputError]:
    from pathlib import Path  # here and below: a check of one file would wait longer for its import than for the file

    anchor = Path(pattern).anchor
    some = False
    for match in _matches(anchor, pattern[len(anchor) :].split("/")):
        some = True
        if os.path.isdir(match):  # noqa: PTH112 - as above
            yield from (file for file in _folder(match) if not is_excluded(str(getattr(file, "name", file)), excluded))
        elif not is_excluded(match, excluded):
            yield match
    if not some:
        yield InputError("matches no files", pattern)


def _matches(folder: str, parts: Sequence[str]) -> Iterator[str]:
    """What a glob means below a folder, sorted; `**` is any number of folders, and follows no links: they may lead in circles."""
    part, rest = parts[0], parts[1:]
    if part == "**" and not rest:
        yield folder or "."
    elif part == "**":
        yield from _matches(folder, rest)
        for entry in _listed(folder):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from _matches(_shown(entry), parts)
            elif _leads_out(entry):
                _tell_of_link(entry)
    elif not _WILD.intersection(part):
        path = os.path.join(folder, part)  # noqa: PTH118 - keeps `.` and `..` as written
        if rest:
            yield from _matches(path, rest)
        elif os.path.lexists(path):
            yield path
    else:
        for entry in _listed(folder):
            hidden = entry.name.startswith(".") and not part.startswith(".")
            if not hidden and fnmatch(entry.name, part) and (not rest or _is_folder(entry)):
                yield from _matches(_shown(entry), rest) if rest else [_shown(entry)]


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        return _entries(folder or ".")
    except OSError:
        return []


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether reading it ends some time; what is wrong with a link that leads nowhere is told when it is read."""
    try:
        return entry.is_file() or not os.path.exists(entry.path)  # noqa: PTH110 - pathlib's raises for a path that is too long
    except OSError:
        return True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _leads_out(entry: os.DirEntry[str]) -> bool:
    """Whether it is a link to a folder outside of the one that it lies in, so that its files may be met nowhere else."""
    if not entry.is_symlink() or entry.name.startswith(".") or not _is_folder(entry):
        return False
    here, there = os.path.realpath(os.path.dirname(entry.path) or "."), os.path.realpath(entry.path)  # noqa: PTH120 - pathlib is slow here
    return os.path.commonpath((here, there)) not in (here, there)


def _tell_of_link(entry: os.DirEntry[str]) -> None:
    say(f"{_shown(entry)}: is a link to a folder, and is passed over; name it itself if it is to be read")


def _shown(entry: os.DirEntry[str]) -> str:
    return _plain(entry.path)


def _plain(path: str) -> str:
    """A path without needless dots and slashes; asked once for a folder, because it takes longer than to read a file's name."""
    from pathlib import Path

    return str(Path(path))
