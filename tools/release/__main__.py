"""Makes a release of the tagged commit in `dist`: `make release`. Two runs on one machine write the same bytes.

It needs the package index, for the locked wheels, and about two minutes.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.release import bill, distributions, image, krew, provenance, pyz, wheels
from tools.release.source import ROOT, ReleaseError, Source, chosen, export

if TYPE_CHECKING:
    from collections.abc import Mapping

DIST: Final = ROOT / "dist"
PYZ: Final = "dynamo-webhooks.pyz"


def main() -> int:
    """Writes the files and their sums; 1 with a sentence where nothing can be released."""
    try:
        source = chosen()
        with tempfile.TemporaryDirectory() as scratch:
            made = _made(Path(scratch), source)
            shutil.rmtree(DIST, ignore_errors=True)
            shutil.copytree(made, DIST)
    except ReleaseError as error:
        sys.stderr.write(f"make release: {error}\n")
        return 1
    for file in sorted(DIST.iterdir()):
        sys.stdout.write(f"{provenance.sha256(file)}  dist/{file.name}\n")
    return 0


def _made(scratch: Path, source: Source) -> Path:
    """A folder with all files of the release."""
    exported, target, environment, root = (scratch / name for name in ("source", "release", "environment", "root"))
    for folder in (exported, target):
        folder.mkdir()
    export(exported)
    wheel, _ = distributions.build(exported, target, source.epoch)
    pyz.build([wheel, *wheels.fetch(scratch / "wheels")], target / PYZ, source.epoch)
    krew.write(target / PYZ, target, source)
    named = target / f"dynamo-webhooks-{source.version}"
    packages = image.install(wheel, environment)
    _store(Path(f"{named}.cdx.json"), bill.bill(packages, source))
    image.collect(environment, root)
    image.write(root, Path(f"{named}-oci.tar"), source)
    for lock in (wheels.FILES_LOCK, wheels.SERVER_LOCK):
        shutil.copyfile(lock, target / lock.name)
    (target / "NOTES.txt").write_text(source.notes, "utf-8")
    _store(Path(f"{named}.provenance.json"), provenance.statement(target.iterdir(), source))
    sums = "".join(f"{provenance.sha256(file)}  {file.name}\n" for file in sorted(target.iterdir()))
    (target / "SHA256SUMS").write_text(sums, "utf-8")
    return target


def _store(file: Path, value: Mapping[str, object]) -> None:
    file.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
