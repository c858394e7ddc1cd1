"""Archives whose bytes depend on what they hold alone: entries in order, one time, one owner, plain modes."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zipfile
from typing import IO, TYPE_CHECKING, Final

from tools.release.source import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_OLDEST: Final = 315532800  # seconds; what a zip archive calls the beginning of 1980
_REGULAR: Final = 0o100644 << 16
_LEVEL: Final = 6


def write_zip(target: Path, entries: Mapping[str, bytes], epoch: int, *, head: bytes = b"", compressed: bool = True) -> None:
    """Writes a zip archive, behind `head` where it is given; all its files get the time `epoch`."""
    when = time.gmtime(max(epoch, _OLDEST))[:6]
    with target.open("wb") as opened:
        opened.write(head)
        with zipfile.ZipFile(opened, "w") as archive:
            for name in sorted(entries):
                about = zipfile.ZipInfo(name, when)
                about.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
                about.create_system = 3  # Unix, whose modes follow
                about.external_attr = _REGULAR
                archive.writestr(about, entries[name], compresslevel=_LEVEL)


def read_zip(source: Path | IO[bytes]) -> dict[str, bytes]:
    """All files of a zip archive by name."""
    with zipfile.ZipFile(source) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def write_tar(target: Path, entries: Mapping[str, tuple[bytes, int]], epoch: int) -> None:
    """Writes a tar archive of files with their modes; compressed where the name ends in `.gz`."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(entries):
            content, mode = entries[name]
            about = plain(tarfile.TarInfo(name), epoch)
            about.mode, about.size = mode, len(content)
            archive.addfile(about, io.BytesIO(content))
    content = written.getvalue()
    target.write_bytes(gzip.compress(content, _LEVEL, mtime=0) if target.suffix == ".gz" else content)


def read_tar(source: Path) -> dict[str, tuple[bytes, int]]:
    """All regular files of a tar archive with their modes, which are either 0755 or 0644. Raises: ReleaseError."""
    with tarfile.open(source) as archive:
        files = [about for about in archive if about.isfile()]
        return {about.name: (_content(archive, about), 0o755 if about.mode & 0o111 else 0o644) for about in files}


def plain(about: tarfile.TarInfo, epoch: int) -> tarfile.TarInfo:
    """The entry with the time `epoch`, and root as its owner."""
    about.mtime = epoch
    about.uid = about.gid = 0
    about.uname = about.gname = ""
    return about


def _content(archive: tarfile.TarFile, about: tarfile.TarInfo) -> bytes:
    opened = archive.extractfile(about)
    if opened is None:
        raise ReleaseError(f"{about.name} must be a regular file, got an entry without content; build the archive again")
    return opened.read()
