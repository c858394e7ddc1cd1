"""The files of a release that are written by our own code."""

import platform
from pathlib import Path

import pytest

from tools.release import distributions
from tools.release.archives import write_tar, write_zip
from tools.release.source import ReleaseError


def test_a_compressed_archive_names_no_time_of_its_own(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar.gz", {"x": (b"1", 0o644)}, 5)
    assert (tmp_path / "a.tar.gz").read_bytes()[4:8] == bytes(4)


@pytest.mark.parametrize(("newest", "refused"), [(28, False), (34, True)])
def test_a_compiled_wheel_needs_no_newer_glibc_than_its_tag_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newest: int, refused: bool
) -> None:
    wheel = tmp_path / f"d-1-cp311-cp311-manylinux_2_28_{platform.machine()}.whl"
    held = {"m.so": f"\0GLIBC_2.2.5\0GLIBC_2.{newest}\0GLIBC_2.14\0".encode(), "m.py": b"GLIBC_2.99"}
    monkeypatch.setattr(distributions, "run", lambda *_, **__: write_zip(wheel, held, 0))
    if refused:
        with pytest.raises(ReleaseError, match=r"must run on glibc 2\.28, got symbols of 2\.34"):
            distributions.build_compiled(tmp_path, tmp_path, 0)
    else:
        assert distributions.build_compiled(tmp_path, tmp_path, 0) == wheel
