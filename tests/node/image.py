"""Makes the image of this tree as a release does, compiled, and keeps it in the user's cache until one of its files changes."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.cluster.assets.build import directory_of
from tools.release import distributions, image
from tools.release.source import ROOT, Source

NAME: Final = "localhost/dynamo-webhooks:node"
_EPOCH: Final = 1_700_000_000  # seconds; any time after 1980, when that of an archive begins
_MAX_IMAGES: Final = 3  # in the cache
_NOT_IN_IT: Final = (":!tests", ":!docs", ":!editors", ":!tools")


def make_image() -> Path:
    """Returns the image as an archive that containerd imports. Unless it is in the cache, this takes two minutes of two cores."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", ".", *_NOT_IN_IT]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    sources = {name: ROOT / name for name in sorted(names) if (ROOT / name).exists()}
    digest = hashlib.sha256()
    for name, source in sources.items():
        digest.update(name.encode() + b"\0" + (b"" if source.is_dir() else source.read_bytes()))
    cache = directory_of().parent / "node-images"
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"{digest.hexdigest()[:16]}.tar"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            _make(sources, Path(scratch)).rename(target)
        for old in sorted(cache.glob("*.tar"), key=lambda file: file.stat().st_mtime)[:-_MAX_IMAGES]:
            old.unlink()
    return target


def _make(sources: dict[str, Path], scratch: Path) -> Path:
    copy, wheels, environment, root, archive = (scratch / name for name in ("source", "wheels", "environment", "root", "image.tar"))
    wheels.mkdir()
    for name, source in sources.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy / name, follow_symlinks=False)
    python = image.install(distributions.build_compiled(copy, wheels, _EPOCH), environment)
    image.collect(python, root)
    image.write(root, archive, Source("node", "0" * 40, _EPOCH, "", ""))
    return archive
