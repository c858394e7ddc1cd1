"""Makes a release of the tagged commit in `dist`: `make release`. Two runs on one machine write the same bytes.

It needs the package indexes of Python and npm, for the locked packages, and about five minutes.
"""

import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tools.release import distributions, image, vsix
from tools.release.archives import sha256, write_pyz
from tools.release.source import ROOT, ReleaseError, Source, export, read_source

DIST: Final = ROOT / "dist"
PYZ: Final = "dynamo-webhooks.pyz"


def main() -> int:
    """Writes the files and their sums; 1 with a sentence where nothing can be released."""
    os.umask(0o022)  # modes of files are in the wheel and in the image
    try:
        source = read_source()
        with tempfile.TemporaryDirectory() as scratch:
            made = _build_files(Path(scratch), source)
            shutil.rmtree(DIST, ignore_errors=True)
            shutil.copytree(made, DIST)
    except ReleaseError as error:
        sys.stderr.write(f"make release: {error}\n")
        return 1
    for file in sorted(DIST.iterdir()):
        sys.stdout.write(f"{sha256(file)}  dist/{file.name}\n")
    return 0


def _build_files(scratch: Path, source: Source) -> Path:
    """A folder with all files of the release."""
    target, environment, root = (scratch / name for name in ("release", "environment", "root"))
    named = target / f"dynamo-webhooks-{source.version}"
    target.mkdir()
    # compilers use one core each
    with ThreadPoolExecutor() as pool:
        glibc = pool.submit(distributions.build_compiled, _export(scratch / "glibc"), target, source.epoch)
        musl = pool.submit(distributions.build_musl, _export(scratch / "musl"), target, source.epoch)
        exported = _export(scratch / "source")
        wheel = distributions.build_wheel(exported, target, source.epoch)
        write_pyz([wheel, *distributions.fetch(scratch / "wheels")], target / PYZ, source.epoch)
        extension = vsix.install(exported)
        vsix.build(extension, target / PYZ, Path(f"{named}.vsix"), source.epoch)
        vsix.write_bill(extension, Path(f"{named}-vscode.cdx.json"), source)
        compiled, _ = glibc.result(), musl.result()
    python = image.install(compiled, environment)
    image.write_bill(python, Path(f"{named}.cdx.json"), source)
    image.collect(python, root)
    image.write(root, Path(f"{named}-oci.tar"), source)
    for lock in (distributions.FILES_LOCK, distributions.SERVER_LOCK):
        shutil.copyfile(lock, target / lock.name)
    (target / "NOTES.txt").write_text(source.notes, "utf-8")
    sums = "".join(f"{sha256(file)}  {file.name}\n" for file in sorted(target.iterdir()))
    (target / "SHA256SUMS").write_text(sums, "utf-8")
    return target


def _export(folder: Path) -> Path:
    folder.mkdir()
    export(folder)
    return folder


if __name__ == "__main__":
    sys.exit(main())
