"""Archives whose bytes depend on what they hold alone: entries in order, one time, one owner, plain modes; one of them runs."""

import gzip
import hashlib
import io
import tarfile
import time
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Final

from tools.release.source import ReleaseError

_MIN_ZIP_SECONDS: Final = 315532800  # what a zip archive calls the beginning of 1980
_REGULAR: Final = 0o100644 << 16
_COMPRESSION_LEVEL: Final = 6


def write_zip(target: Path, entries: Mapping[str, bytes], epoch: int, *, head: bytes = b"", compressed: bool = True) -> None:
    """Writes a zip archive, behind `head` where it is given; all its files get the time `epoch`."""
    when = time.gmtime(max(epoch, _MIN_ZIP_SECONDS))[:6]
    with target.open("wb") as opened:
        opened.write(head)
        with zipfile.ZipFile(opened, "w") as archive:
            for name in sorted(entries):
                about = zipfile.ZipInfo(name, when)
                about.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
                about.create_system = 3  # Unix, whose modes follow
                about.external_attr = _REGULAR
                archive.writestr(about, entries[name], compresslevel=_COMPRESSION_LEVEL)


def read_zip(source: Path | IO[bytes]) -> dict[str, bytes]:
    """All files of a zip archive by name."""
    with zipfile.ZipFile(source) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def write_tar(target: Path, entries: Mapping[str, tuple[bytes, int]], epoch: int) -> None:
    """Writes a tar archive of files with their modes; compressed where the name ends in `.gz`."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(entries):
            content, about = entries[name][0], tarfile.TarInfo(name)
            about.mtime, about.mode, about.size = epoch, entries[name][1], len(content)
            archive.addfile(about, io.BytesIO(content))
    content = written.getvalue()
    target.write_bytes(gzip.compress(content, _COMPRESSION_LEVEL, mtime=0) if target.suffix == ".gz" else content)


def sha256(file: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


START: Final = Path(__file__).with_name("start.py")
_SHEBANG: Final = b"#!/usr/bin/env python3\n"
_ABOUT: Final = ".dist-info/"
_READ: Final = ("METADATA", "licenses/")  # what of it is used; wheels of one distribution differ in the rest


def write_pyz(wheels: Iterable[Path], target: Path, epoch: int) -> None:
    """Writes the command for files as one file, which may be executed: the start, the digest of the application, the application."""
    files = merge_wheels(wheels)
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    inner = target.with_suffix(".application")
    write_zip(inner, files, epoch)
    outer = {"__main__.py": START.read_bytes(), "digest": digest.hexdigest()[:32].encode(), "application.zip": inner.read_bytes()}
    inner.unlink()
    write_zip(target, outer, epoch, head=_SHEBANG, compressed=False)
    target.chmod(0o755)


def merge_wheels(wheels: Iterable[Path]) -> dict[str, bytes]:
    """All files of wheels, as one folder of packages has them. Raises: ReleaseError where two differ in a file."""
    files: dict[str, bytes] = {}
    for wheel in wheels:
        for name, content in read_zip(wheel).items():
            if _ABOUT in name and not name.partition(_ABOUT)[2].startswith(_READ):
                continue
            if files.setdefault(name, content) != content:
                raise ReleaseError(f"{wheel.name} must hold the same {name} as the wheels before it, got another; compare their versions")
    return files
