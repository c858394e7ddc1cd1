"""The layout of the image: its digests, its bytes, and that it declares what manifests/Containerfile does."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from typing import Final

import pytest

from tests.manifests.environment import ROOT
from tests.release.layout import Image, read
from tools.release import image
from tools.release.source import Source

SOURCE: Final = Source("0.1.0", "f" * 40, 1_790_000_000, "The first.\n", "me/mine")


def _root(place: Path, umask: int) -> Path:
    before = os.umask(umask)
    try:
        (place / "opt" / "bin").mkdir(parents=True)
        (place / "tmp").mkdir()
        (place / "opt" / "bin" / "python").write_bytes(b"\x7fELF")
        (place / "opt" / "bin" / "python").chmod(0o777 & ~umask)
        (place / "opt" / "data").write_text("x")
        (place / "opt" / "link").symlink_to("/opt/data")
    finally:
        os.umask(before)
    return place


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("layout")
    image.write(_root(home / "root", 0o022), home / "image.tar", SOURCE)
    return home / "image.tar"


@pytest.fixture(scope="module")
def layout(written: Path) -> Image:
    return read(written)


def test_other_modes_and_times_give_the_same_bytes(written: Path, tmp_path: Path) -> None:
    root = _root(tmp_path / "root", 0o077)
    os.utime(root / "opt" / "data", (1, 1))
    image.write(root, tmp_path / "image.tar", SOURCE)
    assert (tmp_path / "image.tar").read_bytes() == written.read_bytes()


def test_the_layer_belongs_to_root_and_keeps_links_and_the_scratch_directory(layout: Image) -> None:
    with tarfile.open(fileobj=io.BytesIO(layout.layer)) as archive:
        found = {about.name: (about.type, about.mode, about.linkname) for about in archive}
        assert {(about.uid, about.gid, about.uname, about.mtime) for about in archive} == {(0, 0, "", SOURCE.epoch)}
    assert found == {
        "opt": (tarfile.DIRTYPE, 0o755, ""),
        "opt/bin": (tarfile.DIRTYPE, 0o755, ""),
        "opt/bin/python": (tarfile.REGTYPE, 0o755, ""),
        "opt/data": (tarfile.REGTYPE, 0o644, ""),
        "opt/link": (tarfile.SYMTYPE, 0o777, "/opt/data"),
        "tmp": (tarfile.DIRTYPE, 0o1777, ""),
    }


def test_it_declares_what_the_containerfile_does(layout: Image) -> None:
    config = layout.config["config"]
    labels = config.pop("Labels")
    assert config == image.declared((ROOT / "manifests" / "Containerfile").read_text())
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == [f"{image.HOME}/bin/dynamo-webhooks"]
    assert config["Cmd"] == ["serve", "--config=/etc/dynamo-webhooks/config.yaml"]
    assert config["ExposedPorts"] == {"9443/tcp": {}, "8081/tcp": {}, "8080/tcp": {}}
    assert "PYTHONDONTWRITEBYTECODE=1" in config["Env"]
    assert labels == layout.manifest["annotations"]
    named = {name.removeprefix("org.opencontainers.image."): text for name, text in labels.items()}
    assert (named["version"], named["revision"], named["licenses"]) == ("0.1.0", SOURCE.commit, "Apache-2.0")
    assert named["source"] == "https://github.com/me/mine"
    assert layout.listed["manifests"][0]["annotations"] == {"org.opencontainers.image.ref.name": "0.1.0"}


def test_a_blob_that_was_changed_is_found(written: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.tar"
    changed.write_bytes(written.read_bytes().replace(b"65532:65532", b"00000:00000"))
    with pytest.raises(AssertionError):
        read(changed)
