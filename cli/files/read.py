"""Reads input files and standard input as text, within limits, and says in one sentence why one can't be read."""

import os
import stat
import sys
from collections.abc import Iterator
from typing import Final

from ..yaml.errors import InputError

# An API server accepts objects of about 1.5 MiB; no file written by hand holds 32 MiB of them.
MAX_FILE_BYTES: Final = 32 * 2**20
STDIN: Final = "-"


def load_text(path: str, name: str = "") -> str:
    """Reads a file, or standard input for `-`, as UTF-8 text; `name` is what errors call it. Raises: InputError, also for binary files."""
    shown = name or path or '""'
    return decode(load_bytes(path, shown), shown)


def load_bytes(path: str, name: str = "") -> bytes:
    """Reads a file, or standard input for `-`, as it is. Raises: InputError when it is missing, not readable or too large."""
    name = name or path
    if path == STDIN:
        data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise _too_large(name)
        return data
    try:
        # os, because pathlib takes longer to import than a small file takes to check, and what `open` returns asks the system much more
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))  # which Windows has
        try:
            return _whole(descriptor, os.fstat(descriptor), name)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise InputError("does not exist", name) from None
    except PermissionError:
        raise InputError("may not be read (permission denied)", name) from None
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", name) from None


def _whole(descriptor: int, status: os.stat_result, name: str) -> bytes:
    if stat.S_ISDIR(status.st_mode):
        raise InputError("is a folder, not a file", name)
    if status.st_size > MAX_FILE_BYTES:
        raise _too_large(name)
    data, most = bytearray(), max(status.st_size, 1 << 16) + 1
    while len(data) <= MAX_FILE_BYTES and (
        more := os.read(descriptor, most)
    ):  # a pipe or device has no size beforehand, and a file may grow
        data += more
    if len(data) > MAX_FILE_BYTES:
        raise _too_large(name)
    return bytes(data)


def _too_large(name: str) -> InputError:
    return InputError(f"is larger than {MAX_FILE_BYTES // 2**20} MiB", name)


def decode(data: bytes, name: str) -> str:
    """Decodes UTF-8 with or without a byte order mark. Raises: InputError that names the place of the first wrong byte."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("must be UTF-8, is UTF-16", name)
    data = data.removeprefix(b"\xef\xbb\xbf")
    zero = data.find(b"\0")
    if zero >= 0:
        raise InputError("is binary (it holds a zero byte), not YAML or JSON", name, *_line_and_column(data, zero))
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"must be UTF-8, found the byte 0x{data[error.start]:02x}", name, *_line_and_column(data, error.start)) from None


def _line_and_column(data: bytes, index: int) -> tuple[int, int]:
    before = data[:index]
    line = before.rfind(b"\n") + 1
    return before.count(b"\n") + 1, len(before[line:].decode("utf-8", "replace")) + 1


def list_folders_above(path: str) -> Iterator[str]:
    """A folder and all above it, up to the root; of an absolute path."""
    yield path
    while (above := os.path.dirname(path)) != path:  # noqa: PTH120 - pathlib takes longer to import than a small file takes to check
        path = above
        yield path


def is_within(path: str, root: str) -> bool:
    """Whether a path is a folder or is in it; both absolute and without links."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
