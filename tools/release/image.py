"""The image as an OCI layout in one archive, and its bill of materials, from an environment with the locked packages of the server."""

import json
import platform
import sys
from pathlib import Path
from typing import Final

from tools.release.archives import write_tar
from tools.release.distributions import SERVER_LOCK, download, run
from tools.release.source import ROOT, Source

HOME: Final = "/opt/dynamo-webhooks"  # in the image
_CONTAINERFILE: Final = ROOT / "manifests" / "Containerfile"
_COLLECT: Final = ROOT / "manifests" / "image" / "collect.py"
_LAST: Final = "FROM scratch\n"  # the stage that starts from nothing, so that no registry is asked


def install(wheel: Path, target: Path, lock: Path = SERVER_LOCK) -> Path:
    """Makes an environment at `target` with the wheel and the locked packages of the server; returns its interpreter."""
    wheels = target.with_name("wheels-server")
    download(wheels, lock)
    run([sys.executable, "-m", "venv", "--without-pip", str(target)], target.parent)
    pip = [sys.executable, "-m", "pip", "--python", str(target / "bin" / "python"), "install", "--quiet", "--no-deps", "--no-index"]
    # by its name, because pip writes down where a file was
    name = wheel.name.partition("-")[0]
    folders = ["--find-links", str(wheels), "--find-links", str(wheel.parent)]
    run([*pip, "--no-compile", *folders, "--requirement", str(lock), "--require-hashes"], target.parent)
    run([*pip, "--no-compile", *folders, name], target.parent)
    return target / "bin" / "python"


def write_bill(python: Path, target: Path, source: Source) -> None:
    """Writes the bill of materials as CycloneDX 1.6: what cyclonedx-py finds in the environment, and the interpreter."""
    bill = [sys.executable, "-m", "cyclonedx_py", "environment", "--sv", "1.6", "--output-reproducible", "--validate"]
    project = ["--pyproject", str(ROOT / "pyproject.toml")]
    run([*bill, *project, "--output-file", str(target), str(python)], target.parent, SOURCE_DATE_EPOCH=str(source.epoch))
    document = json.loads(target.read_text("utf-8"))
    name = f"pkg:generic/python@{platform.python_version()}"
    interpreter = {"type": "application", "name": "python", "version": platform.python_version(), "bom-ref": name, "purl": name}
    document["components"].append(interpreter)
    target.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", "utf-8")


def collect(python: Path, target: Path) -> None:
    """Fills the root of the image from an environment, all modules compiled."""
    run([str(python), str(_COLLECT), str(target), "--home", HOME, "--compile"], target.parent)


def write(root: Path, target: Path, source: Source) -> None:
    """Writes the archive of the image: buildah builds the last stage of manifests/Containerfile from `root`, as one layer."""
    scratch = root.with_name("buildah")
    scratch.mkdir()
    declared = _LAST + _CONTAINERFILE.read_text("utf-8").rpartition(_LAST)[2]
    (scratch / "Containerfile").write_text(declared.replace("COPY --from=build /image /", "COPY . /"), "utf-8")
    labels = {"version": source.version, "revision": source.commit, "source": source.url}
    store = ["--root", str(scratch / "root"), "--runroot", str(scratch / "run"), "--storage-driver", "vfs"]
    always = ["--isolation", "chroot", "--format", "oci", "--identity-label=false", "--disable-compression=false"]
    named = [f"--label=org.opencontainers.image.{name}={text}" for name, text in labels.items()]
    words = ["--file", str(scratch / "Containerfile"), "--tag", f"oci:{scratch / 'layout'}:{source.version}", str(root)]
    run(["buildah", *store, "build", *always, "--timestamp", str(source.epoch), *named, *words], scratch)
    files = {path: str(path.relative_to(scratch / "layout")) for path in (scratch / "layout").rglob("*") if path.is_file()}
    write_tar(target, {name: (path.read_bytes(), 0o644) for path, name in files.items()}, source.epoch)
