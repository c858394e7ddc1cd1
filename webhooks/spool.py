"""An anonymous file in memory: the body of a long request, or its answer, on its way between two processes without being copied."""

import mmap
import os
import tempfile
from types import TracebackType
from typing import Self


class Spool:
    """A file without a name that grows as it is written; use as a context manager, or `close` it."""

    __slots__ = ("descriptor", "size")

    def __init__(self, descriptor: int | None = None) -> None:
        """Makes an empty one, or takes over a descriptor that another process made."""
        if descriptor is not None:
            self.descriptor = descriptor
        elif hasattr(os, "memfd_create"):
            self.descriptor = os.memfd_create("review", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:  # systems without such files
                self.descriptor = os.dup(file.fileno())
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def write(self, part: bytes | memoryview) -> None:
        """Adds to its end."""
        rest = memoryview(part)
        while rest:
            written = os.write(self.descriptor, rest)
            self.size += written
            rest = rest[written:]

    def clear(self) -> None:
        """Discards the content."""
        os.ftruncate(self.descriptor, 0)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        self.size = 0

    def mapped(self, size: int) -> mmap.mmap:
        """The first `size` bytes, at least one, to be read; they outlive `close`."""
        return mmap.mmap(self.descriptor, size, prot=mmap.PROT_READ)

    def close(self) -> None:
        """Closes the file; mappings stay."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
