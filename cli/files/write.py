"""Writes a file in one step, so that readers never see half of it and an interrupted run leaves the old one.

A repository may be a stranger's, so no link of it leads a write out of it, whichever command writes and however the file was named.
"""

# ruff: noqa: PTH100, PTH110, PTH112, PTH116, PTH118, PTH120 - pathlib has no folders by their descriptors, and resolves what must stay as it is written

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ..console.exits import OK, REFUSED, UsageError
from ..console.output import write_stderr
from ..yaml.errors import InputError
from .read import decode, is_within, list_folders_above, load_bytes

_BOM: Final = b"\xef\xbb\xbf"


def write_if_unchanged(file: str, text: str, old: str | None) -> int:
    """Writes a file that was read as the old text, None if that is unknown; says why it can't, and returns the exit code. Keeps a BOM."""
    if old is None and os.path.islink(file):  # noqa: PTH114 - as below
        write_stderr(f"{file} is left as it is: it is a link; name its target if that is to be written")
        return REFUSED
    try:
        before = load_bytes(file) if old is not None or os.path.exists(file) else b""
        now = decode(before, file)
        if old is None or now == old:
            replace_file(file, (_BOM if before.startswith(_BOM) else b"") + text.encode())
    except (InputError, UsageError) as error:
        write_stderr(str(error))
        return REFUSED
    if old in (None, now) or now == text:  # links may name one file twice: the second time it is written already
        return OK
    write_stderr(f"{file} is left as it is: it has changed since it was read; run the command again")
    return REFUSED


# a folder that may be passed through but not listed can be opened on Linux
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)


def replace_file(file: str, content: str | bytes) -> None:
    """Replaces or creates a file; an old one keeps owner and mode, a link its target, and a stream is written to. Raises: UsageError."""
    with _explained(file):
        target = os.path.realpath(file)
        root = _bound(file, target)
        if _is_stream(file):
            Path(file).write_bytes(_bytes(content))
            return
        folder, name = os.path.split(target)
        with _opened(root or folder, os.path.relpath(folder, root) if root else "") as directory:
            _swap(directory, name, _bytes(content))


def store(folder: str, name: str, content: str | bytes) -> None:
    """Writes a file below a folder, both created if missing; follows no link below it. Raises: UsageError with the path below it."""
    with _explained(name):
        root = os.path.realpath(folder)
        _bound(os.path.join(folder, "_"), root)
        if os.path.exists(root) and not os.path.isdir(root):
            raise UsageError(f"{name} can't be written: {folder} must be a folder, and is a file")
        Path(root).mkdir(parents=True, exist_ok=True)
        above, last = os.path.split(name)
        with _opened(root, above, make=True) as directory:
            _swap(directory, last, _bytes(content))


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


@contextmanager
def _explained(file: str) -> Iterator[None]:
    """Turns what goes wrong with a file into a UsageError."""
    try:
        yield
    except FileNotFoundError:
        raise UsageError(f"{file} can't be written: its folder does not exist") from None
    except PermissionError:
        raise UsageError(f"{file} can't be written: permission denied") from None
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror}") from None
    except (RuntimeError, ValueError):  # a loop of links; a zero byte
        raise UsageError(f"{file!a} can't be written: it is no usable path") from None


def _bound(file: str, target: str) -> str:
    """The innermost repository of a path as written, or nothing. Raises: UsageError if the target is outside, as its author linked."""
    folders = list_folders_above(os.path.dirname(os.path.abspath(file)))
    roots = [os.path.realpath(folder) for folder in folders if os.path.lexists(os.path.join(folder, ".git"))]
    for root in roots:
        if not is_within(target, root):
            raise UsageError(f"{file} can't be written: it is a link out of the repository {root}; name its target if that is meant")
    return roots[0] if roots else ""


@contextmanager
def _opened(root: str, path: str, *, make: bool = False) -> Iterator[int]:
    """The descriptor of a folder below another one; no part of the path may be a link. `make` creates folders that are missing."""
    if os.open not in os.supports_dir_fd:  # Windows, where nothing keeps a link from being put in the way
        raise UsageError("files are written on Linux and macOS only; run the command there, such as in WSL, or redirect its output")
    directory = os.open(root, _FOLDER)
    try:
        for part in Path(path).parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=directory)
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=directory)
            os.close(directory)
            directory = below
        yield directory
    finally:
        os.close(directory)


def _writable(name: str, directory: int) -> os.stat_result | None:
    """A file's status; None for none or a link, which is replaced. Raises: PermissionError if read-only: a rename wouldn't ask for that."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        return None
    if not status.st_mode & 0o222 or not os.access(name, os.W_OK, dir_fd=directory):  # root may write to all
        raise PermissionError
    return status


def _is_stream(file: str) -> bool:
    """Whether a path names something open, or something that is no regular file: there is nothing to put in its place."""
    try:
        return os.path.abspath(file).startswith(("/dev/", "/proc/")) or not stat.S_ISREG(os.stat(file).st_mode)
    except FileNotFoundError:
        return False


def _swap(directory: int, name: str, data: bytes) -> None:
    # beside the target, because a file is renamed in one step only within a file system; not named after it: names may be at their limit
    beside = f".{secrets.token_hex(8)}.tmp"
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=directory), "wb") as out:
            out.write(data)
            if (old := _writable(name, directory)) is not None:
                # root, as in a container, would leave files behind that people may not write
                with suppress(OSError):  # only root may give a file away
                    os.fchown(out.fileno(), old.st_uid, old.st_gid)
                os.fchmod(out.fileno(), stat.S_IMODE(old.st_mode))
        os.replace(beside, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=directory)
        raise
