"""Makes the image of this tree as a release does, compiled, and keeps it in the user's cache until one of its files changes."""

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from tests.cluster.assets.build import directory_of
from tools.release import distributions, image
from tools.release.source import ROOT, Source, export, git

REPOSITORY: Final = "localhost/dynamo-webhooks"
NAME: Final = f"{REPOSITORY}:node"
ENGINE: Final = f"{REPOSITORY}:1.6.0"  # the tag says which runtime an engine's image has
OLDER_COMMIT: Final = "de7fcfef8711140355e8f96393b8797677b3417a"  # where no tag is
OLDER_NAME: Final = f"{REPOSITORY}:older"
ENGINE_MODULES: Final = Path(__file__).parent / "engine"
_EPOCH: Final = 1_700_000_000  # seconds; any time after 1980, when that of an archive begins
_MAX_IMAGES: Final = 6  # in the cache
# what manifests/Containerfile copies into its first stage
_SOURCES: Final = re.findall(r"^COPY (?!--)(.+) \S+$", (ROOT / "manifests" / "Containerfile").read_text(), re.MULTILINE)


def make_image() -> Path:
    """Returns the image as an archive that containerd imports. Unless it is in the cache, this takes two minutes of two cores."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "--", *" ".join(_SOURCES).split()).decode().splitlines()
    sources = {name: ROOT / name for name in sorted(listed) if (ROOT / name).exists()}
    digest = hashlib.sha256()
    for name, source in sources.items():
        digest.update(name.encode() + b"\0" + (b"" if source.is_dir() else source.read_bytes()))

    def copy(target: Path) -> None:
        for name, source in sources.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)

    return _cached(digest.hexdigest()[:16], partial(_make, NAME, copy, distributions.build_compiled))


def make_older_image() -> Path:
    """Returns the image of the release before, likewise, but interpreted, which takes seconds."""
    return _cached(OLDER_COMMIT, partial(_make, OLDER_NAME, partial(export, commit=OLDER_COMMIT), distributions.build_wheel))


def make_engine_image() -> Path:
    """Returns the image with what images of engines have besides, likewise: a shell, tools, `python3`, and the modules in `engine`."""
    below = make_image()
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(ENGINE_MODULES.rglob("*.py"))))

    def build(scratch: Path) -> Path:
        (scratch / "local").mkdir()
        for name in ("python", "python3"):
            (scratch / "local" / name).symlink_to(f"{image.HOME}/bin/python")
        for name in ("sh", "sleep", "cat"):
            shutil.copy2(Path("/bin", name).resolve(), scratch / "local" / name)
        shutil.copytree(ENGINE_MODULES, scratch / "engine")
        added = "COPY local/sh /bin/\nCOPY local /usr/local/bin\nCOPY engine /engine\nENV PYTHONPATH=/engine\nENTRYPOINT []\nCMD []\n"
        (scratch / "Containerfile").write_text(f"FROM oci-archive:{below}\n{added}")
        build_image(scratch, f"oci-archive:{scratch / 'image.tar'}:{ENGINE.rpartition(':')[2]}")
        return scratch / "image.tar"

    return _cached(f"{below.stem}-{digest.hexdigest()[:16]}", build)


def build_image(folder: Path, target: str) -> None:
    """Builds the Containerfile of a folder into an archive."""
    store = ["--root", str(folder / "buildah"), "--runroot", str(folder / "buildah-run"), "--storage-driver", "vfs"]
    words = ["--isolation", "chroot", "--format", "oci" if target.startswith("oci") else "docker", "--tag", target, str(folder)]
    subprocess.run(["buildah", *store, "build", "--quiet", *words], check=True, capture_output=True)


def _cached(key: str, make: Callable[[Path], Path]) -> Path:
    cache = directory_of().parent / "node-images"
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"{key}.tar"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            make(Path(scratch)).rename(target)
        for old in sorted(cache.glob("*.tar"), key=lambda file: file.stat().st_mtime)[:-_MAX_IMAGES]:
            old.unlink()
    return target


def _make(name: str, copy: Callable[[Path], None], build: Callable[[Path, Path, int], Path], scratch: Path) -> Path:
    source, wheels, environment, root, archive = (scratch / name for name in ("source", "wheels", "environment", "root", "image.tar"))
    copy(source)
    wheels.mkdir()
    wheel = build(source, wheels, _EPOCH)
    image.collect(image.install(wheel, environment, source / "requirements-server.lock"), root)
    image.write(root, archive, Source(name.rpartition(":")[2], "0" * 40, _EPOCH, "", ""))
    return archive
