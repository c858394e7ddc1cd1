"""The provenance of a release as an in-toto statement with SLSA's predicate. It is not signed: it says who built what of what, no more."""

from __future__ import annotations

import hashlib
import platform
import zlib
from typing import TYPE_CHECKING, Any

from tools.release.bill import timestamp
from tools.release.source import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tools.release.source import Source

LOCKS = ("requirements.lock", "requirements-server.lock", "requirements-files.lock")


def statement(files: Iterable[Path], source: Source) -> dict[str, Any]:
    """The statement about files, each named with its digest."""
    stated = timestamp(source.epoch)  # that of the commit: the statement is the same whenever it is written
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file.name, "digest": {"sha256": sha256(file)}} for file in sorted(files)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{source.url}/blob/{source.tag}/docs/releases.md#make-release",
                "externalParameters": {"repository": source.url, "tag": source.tag},
                "internalParameters": {
                    "python": platform.python_version(),
                    "machine": platform.machine(),
                    "zlib": zlib.ZLIB_RUNTIME_VERSION,
                },
                "resolvedDependencies": [
                    {"uri": f"git+{source.url}@refs/tags/{source.tag}", "digest": {"gitCommit": source.commit}},
                    *({"name": lock, "digest": {"sha256": sha256(ROOT / lock)}} for lock in LOCKS),
                ],
            },
            "runDetails": {
                "builder": {"id": f"{source.url}/blob/{source.tag}/Makefile"},
                "metadata": {"startedOn": stated, "finishedOn": stated},
            },
        },
    }


def sha256(file: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
