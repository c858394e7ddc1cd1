"""Writes what mkdocs is given into build/site-source (`python -m tools.site [--playground]`); `make site` builds the site from it."""

import shutil
import sys
from pathlib import Path
from typing import Final

from tools.site.pages import ROOT, site_files

SOURCE: Final = ROOT / "build" / "site-source"


def main(arguments: list[str], folder: Path = SOURCE) -> None:
    """Writes the files, and removes those of an earlier run."""
    files = site_files(playground="--playground" in arguments)
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1:])
