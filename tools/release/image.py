"""The image as an OCI layout in one archive: one layer, the configuration that manifests/Containerfile declares, and labels."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import re
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tools.release.archives import plain, write_tar
from tools.release.bill import timestamp
from tools.release.distributions import run
from tools.release.source import ROOT
from tools.release.wheels import PROCESSORS, SERVER_LOCK, download

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.release.source import Source

HOME: Final = "/opt/dynamo-webhooks"  # in the image
_CONTAINERFILE: Final = "manifests/Containerfile"
_COLLECT: Final = ROOT / "manifests" / "image" / "collect.py"
_TYPES: Final = "application/vnd.oci.image"


def install(wheel: Path, target: Path) -> Path:
    """Makes an environment at `target` with the wheel and the locked packages of the server; returns its folder of packages."""
    wheels = target.with_name("wheels-server")
    download(wheels, SERVER_LOCK)
    run([sys.executable, "-m", "venv", "--without-pip", str(target)], target.parent)
    pip = [sys.executable, "-m", "pip", "--python", str(target / "bin" / "python"), "install", "--quiet", "--no-deps", "--no-index"]
    # by its name, because pip writes down where a file was
    name = wheel.name.partition("-")[0]
    folders = ["--find-links", str(wheels), "--find-links", str(wheel.parent)]
    run([*pip, "--no-compile", *folders, "--requirement", str(SERVER_LOCK), "--require-hashes"], target.parent)
    run([*pip, "--no-compile", *folders, name], target.parent)
    [packages] = target.glob("lib/python3*/site-packages")
    return packages


def collect(environment: Path, target: Path) -> None:
    """Fills the root of the image from an environment, all modules compiled."""
    run([str(environment / "bin" / "python"), str(_COLLECT), str(target), "--home", HOME, "--compile"], environment.parent)


def write(root: Path, target: Path, source: Source) -> None:
    """Writes the archive of the layout: three blobs named by their digests, the index and the version of the format."""
    layer = _layer(root, source.epoch)
    packed = gzip.compress(layer, 6, mtime=0)
    blobs: dict[str, bytes] = {}
    config = _blob(blobs, "config.v1+json", _encoded(_config(source, f"sha256:{hashlib.sha256(layer).hexdigest()}")))
    layers = [_blob(blobs, "layer.v1.tar+gzip", packed)]
    manifest = {"schemaVersion": 2, "mediaType": f"{_TYPES}.manifest.v1+json", "config": config, "layers": layers}
    described = _blob(blobs, "manifest.v1+json", _encoded({**manifest, "annotations": _labels(source)}))
    described["annotations"] = {"org.opencontainers.image.ref.name": source.version}
    described["platform"] = {"architecture": _processor(), "os": "linux"}
    index = {"schemaVersion": 2, "mediaType": f"{_TYPES}.index.v1+json", "manifests": [described]}
    files = {**blobs, "index.json": _encoded(index), "oci-layout": _encoded({"imageLayoutVersion": "1.0.0"})}
    write_tar(target, {name: (content, 0o644) for name, content in files.items()}, source.epoch)


def declared(containerfile: str) -> dict[str, Any]:
    """What the last stage of a Containerfile declares, as the configuration of an image names it."""
    last = re.split(r"^FROM .*\n", containerfile, flags=re.MULTILINE)[-1]
    said = dict(line.split(" ", 1) for line in last.splitlines() if line and not line.startswith(("#", "COPY")))
    return {
        "User": said["USER"],
        "ExposedPorts": {f"{port}/tcp": {} for port in said["EXPOSE"].split()},
        "Env": said["ENV"].split(),
        "Entrypoint": json.loads(said["ENTRYPOINT"]),
        "Cmd": json.loads(said["CMD"]),
        "WorkingDir": said["WORKDIR"],
    }


def _config(source: Source, layer: str) -> dict[str, Any]:
    created = timestamp(source.epoch)
    told = declared((ROOT / _CONTAINERFILE).read_text("utf-8"))
    return {
        "created": created,
        "architecture": _processor(),
        "os": "linux",
        "config": {**told, "Labels": _labels(source)},
        "rootfs": {"type": "layers", "diff_ids": [layer]},
        "history": [{"created": created, "created_by": "make release", "comment": "tools/release/image.py"}],
    }


def _labels(source: Source) -> dict[str, str]:
    about = {
        "title": "dynamo-webhooks",
        "description": "Admission and conversion webhooks, provisioner and reconciler for NVIDIA Dynamo's custom resources",
        "version": source.version,
        "revision": source.commit,
        "created": timestamp(source.epoch),
        "licenses": "Apache-2.0",
        "source": source.url,
    }
    return {f"org.opencontainers.image.{name}": text for name, text in about.items()}


def _layer(root: Path, epoch: int) -> bytes:
    """The root as a tar archive: entries in order, one time, owned by root, modes that no umask changed."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            about = plain(archive.gettarinfo(path, str(path.relative_to(root))), epoch)
            about.mode = _mode(about, path == root / "tmp")
            if about.isfile():
                with path.open("rb") as opened:
                    archive.addfile(about, opened)
            else:
                archive.addfile(about)
    return written.getvalue()


def _mode(about: tarfile.TarInfo, scratch: bool) -> int:
    if scratch:
        return 0o1777
    return 0o777 if about.issym() else 0o755 if about.isdir() or about.mode & 0o111 else 0o644


def _blob(blobs: dict[str, bytes], kind: str, content: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    blobs[f"blobs/sha256/{digest}"] = content
    return {"mediaType": f"{_TYPES}.{kind}", "digest": f"sha256:{digest}", "size": len(content)}


def _encoded(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=2, sort_keys=True).encode() + b"\n"


def _processor() -> str:
    return PROCESSORS.get(platform.machine(), platform.machine())
