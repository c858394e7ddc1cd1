"""The command for files as one file, `dynamo-webhooks.pyz`: all wheels in one archive, which the start beside this file unpacks."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tools.release.archives import read_zip, write_zip
from tools.release.source import ReleaseError

START: Final = Path(__file__).with_name("start.py")
_SHEBANG: Final = b"#!/usr/bin/env python3\n"
_ABOUT: Final = ".dist-info/"
_READ: Final = ("METADATA", "licenses/")  # what of it is used; wheels of one distribution differ in the rest


def build(wheels: Iterable[Path], target: Path, epoch: int) -> None:
    """Writes the file; it may be executed, and has three entries: the start, the digest of the application, the application."""
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
