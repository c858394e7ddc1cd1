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


@pytest.mark.parametrize(
    ("needed", "refused"),
    [
        (b"libc.so\0libc.musl-x86_64.so.1\0", None),
        (b"libc.so.6\0GLIBC_2.2.5\0libm.so.6\0libm.so.6\0", r"got GLIBC_2\.2\.5, libc\.so\.6, libm\.so\.6;"),
    ],
)
def test_a_wheel_for_musl_needs_no_other_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needed: bytes, refused: str | None
) -> None:
    wheel = tmp_path / f"d-1-cp311-cp311-musllinux_1_2_{platform.machine()}.whl"
    (tmp_path / "m.cpython-311-x86_64-linux-gnu.so").touch()

    def build(*_: object, SETUPTOOLS_EXT_SUFFIX: str, **__: str) -> None:  # noqa: N803 - a variable of the environment
        assert SETUPTOOLS_EXT_SUFFIX.endswith("-linux-musl.so")
        assert not list(tmp_path.glob("*.so"))
        write_zip(wheel, {"m.so": needed}, 0)

    monkeypatch.setattr(distributions, "run", build)
    monkeypatch.setattr("shutil.which", lambda name: name)
    if refused:
        with pytest.raises(ReleaseError, match=refused):
            distributions.build_musl(tmp_path, tmp_path, 0)
    else:
        assert distributions.build_musl(tmp_path, tmp_path, 0) == wheel


def test_without_its_compiler_the_wheel_for_musl_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReleaseError, match=r"musl-gcc must be installed, got none on the PATH; install Debian's musl-tools"):
        distributions.build_musl(tmp_path, tmp_path, 0)
