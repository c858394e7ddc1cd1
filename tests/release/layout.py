"""Reads an OCI layout and checks it: every digest and size, from the index down to the layer."""

from __future__ import annotations

import gzip
import hashlib
import json
import tarfile
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Image(NamedTuple):
    """The one image of a layout."""

    listed: dict[str, Any]  # the index of the layout
    manifest: dict[str, Any]
    config: dict[str, Any]
    layer: bytes  # not compressed


def read(file: Path) -> Image:
    """The image in an archive of a layout, whose blobs are all what they are said to be, and all wanted."""
    files: dict[str, bytes] = {}
    with tarfile.open(file) as archive:
        for about in archive:
            opened = archive.extractfile(about)
            assert opened, about.name
            files[about.name] = opened.read()
    assert json.loads(files.pop("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads(files.pop("index.json"))
    [described] = index["manifests"]
    manifest = json.loads(_blob(files, described))
    [layer] = manifest["layers"]
    config, content = json.loads(_blob(files, manifest["config"])), gzip.decompress(_blob(files, layer))
    assert files == {}
    assert config["rootfs"] == {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]}
    return Image(index, manifest, config, content)


def _blob(files: dict[str, bytes], described: dict[str, Any]) -> bytes:
    content = files.pop("blobs/" + described["digest"].replace(":", "/"))
    assert described["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert described["size"] == len(content)
    return content
