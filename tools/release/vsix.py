"""The extension for VS Code as one file, `.vsix`, and its bill of materials. npm's locked packages bundle it and package it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any, Final

from tools.release.archives import read_zip, write_zip
from tools.release.distributions import run
from tools.release.source import ROOT, ReleaseError, Source

FOLDER: Final = Path("editors", "vscode")
PACKED: Final = "dynamo-webhooks.pyz"  # as src/find.ts looks for it
_QUIETLY: Final = ("--no-audit", "--no-fund", "--no-update-notifier")
_PACKAGE: Final = re.compile(r".*node_modules/(?:@[^/]+/)?[^/]+")


def install(exported: Path) -> Path:
    """Installs the locked packages beside the extension, and runs none of their scripts; returns its folder. Raises: ReleaseError."""
    folder = exported / FOLDER
    run(["npm", "ci", "--ignore-scripts", *_QUIETLY], folder)
    return folder


def build(folder: Path, packed: Path, target: Path, epoch: int) -> None:
    """Writes the file, with the pyz that it starts where nothing else is there. Raises: ReleaseError."""
    run(["npm", "run", "build", *_QUIETLY], folder)
    texts = [f"{about['name']} {about['version']}\n\n{_licence(place)}\n" for place, about in _bundled(folder)]
    (folder / "THIRD-PARTY.txt").write_text(f"\n{'-' * 80}\n\n".join(texts), "utf-8")
    shutil.copyfile(packed, folder / PACKED)
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    made = folder / "made.vsix"
    run(["npm", "run", "package", *_QUIETLY, "--", "--out", str(made)], folder, SOURCE_DATE_EPOCH=str(epoch))
    write_zip(target, read_zip(made), epoch)


def write_bill(folder: Path, target: Path, source: Source) -> None:
    """Writes the bill of materials of the bundle as CycloneDX 1.6. npm's own leaves out packages that a build tool needs, too."""
    components = [_component(about) for _, about in _bundled(folder)]
    about = {"type": "application", "name": "dynamo-webhooks for VS Code", "version": source.version}
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": about}, "components": components}
    target.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", "utf-8")


def _component(about: dict[str, Any]) -> dict[str, Any]:
    name = f"pkg:npm/{about['name'].replace('@', '%40')}@{about['version']}"
    licence = [{"license": {"id": about["license"]}}]
    return {"type": "library", "name": about["name"], "version": about["version"], "bom-ref": name, "purl": name, "licenses": licence}


def _bundled(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The packages that esbuild took a file of, each with its own description."""
    inputs = json.loads((folder / "dist" / "bundle.json").read_text("utf-8"))["inputs"]
    places = sorted({match[0] for name in inputs if (match := _PACKAGE.match(name))})
    return [(folder / place, json.loads((folder / place / "package.json").read_text("utf-8"))) for place in places]


def _licence(package: Path) -> str:
    files = [file for file in sorted(package.iterdir()) if file.name.lower().startswith(("license", "licence"))]
    if not files:
        raise ReleaseError(f"{package.name} must have the text of its licence, got none; ask its authors, or do without it")
    return files[0].read_text("utf-8").strip()
