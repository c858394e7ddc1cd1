"""Writes a file in one step, so that nobody ever sees half of it, and an interrupted run leaves the old one."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from dynamo_webhooks.cli.exits import UsageError


def replace(file: str, content: str | bytes) -> None:
    """Writes a file anew, made if it wasn't there; an old one keeps its owner and mode, and a link stays a link to what it names.

    What is no regular file (`/dev/stdout`, a pipe) is written to as it is. Raises: UsageError when the file can't be written.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if _is_stream(file):
            Path(file).write_bytes(data)
        else:
            _swap(Path(file).resolve(), data)
    except FileNotFoundError:
        raise UsageError(f"{file} can't be written: its folder does not exist") from None
    except PermissionError:
        raise UsageError(f"{file} can't be written: permission denied") from None
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror}") from None
    except (RuntimeError, ValueError):  # a loop of links; a zero byte
        raise UsageError(f"{file!a} can't be written: it is no usable path") from None


def _keep(old: os.stat_result, file: Path) -> None:
    """Gives a file the owner and mode that the old one had: root, as in a container, would leave files behind that people may not write."""
    with suppress(OSError):  # only root may give a file away
        os.chown(file, old.st_uid, old.st_gid)
    file.chmod(stat.S_IMODE(old.st_mode))


def _writable(file: Path) -> os.stat_result:
    """A file's status. Raises: PermissionError where it is read-only: renaming over it would need no permission but the folder's."""
    status = file.stat()
    if not status.st_mode & 0o222 or not os.access(file, os.W_OK):  # root may write to all
        raise PermissionError
    return status


def _is_stream(file: str) -> bool:
    """Whether a path names something open, or something that is no regular file: there is nothing to put in its place."""
    try:
        return os.path.abspath(file).startswith(("/dev/", "/proc/")) or not stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH100, PTH116 - of text
    except FileNotFoundError:
        return False


def _swap(target: Path, data: bytes) -> None:
    # beside the target, because a file is renamed in one step only within a file system; not named after it: names may be at their limit
    beside = target.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as out:
            out.write(data)
        if target.exists():
            _keep(_writable(target), beside)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
