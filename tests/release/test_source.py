"""When nothing is released, and that what is released is the commit and nothing beside it."""

import platform
import subprocess
from pathlib import Path

import pytest

from tools.release import distributions, source
from tools.release.archives import write_tar, write_zip
from tools.release.source import ReleaseError

CHANGES = "# Changelog\n\n## Unreleased\n\n## 0.1.0\n\nThe first.\n"
IDENTITY = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *IDENTITY, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tagged commit that may be released."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    (tmp_path / ".gitignore").write_text("ignored\n")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "First", "--date", "2026-01-01T00:00:00Z")
    git(tmp_path, "tag", "v0.1.0")
    monkeypatch.setattr(source, "ROOT", tmp_path)
    monkeypatch.delenv("REPOSITORY", raising=False)
    return tmp_path


def test_a_tagged_commit_is_released_under_its_version(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repository, "tag", "reviewed")  # tags that name no version are not ours to judge
    release = source.read_source()
    assert (release.version, release.notes, len(release.commit)) == ("0.1.0", "The first.\n", 40)
    assert release.epoch > 1_600_000_000
    assert release.url == "https://github.com/OWNER/dynamo-webhooks"
    monkeypatch.setenv("REPOSITORY", "me/mine")
    assert source.read_source().url == "https://github.com/me/mine"


def test_a_commit_without_its_tag_is_refused(repository: Path) -> None:
    wanted = "HEAD must have the tag v0.1.0, after the version in pyproject.toml"
    git(repository, "tag", "v0.2.0")
    with pytest.raises(ReleaseError) as raised:
        source.read_source()
    assert str(raised.value) == f"{wanted}, and no other of a version, got v0.1.0, v0.2.0; correct one of both"
    git(repository, "tag", "--delete", "v0.1.0", "v0.2.0")
    with pytest.raises(ReleaseError) as raised:
        source.read_source()
    assert str(raised.value) == f"{wanted}, got none; run git tag v0.1.0"


def test_a_working_tree_with_changes_is_refused(repository: Path) -> None:
    (repository / "ignored").write_text("")
    source.read_source()
    (repository / "new").write_text("")
    with pytest.raises(ReleaseError, match=r"^the working tree must be clean, got 1 changed or new files; commit or remove them$"):
        source.read_source()


@pytest.mark.parametrize(
    ("changelog", "message"),
    [
        (
            "## Unreleased\n\n## 0.0.9\n\nOld.\n",
            "CHANGELOG.md must have a section ## 0.1.0 with text, got Unreleased, 0.0.9; write it",
        ),
        ("## 0.1.0\n\n## 0.0.9\n\nOld.\n", "CHANGELOG.md must have a section ## 0.1.0 with text, got 0.1.0, 0.0.9; write it"),
        ("", "CHANGELOG.md must have a section ## 0.1.0 with text, got ; write it"),
        (
            "## Unreleased\n\n- One\n- Two\n\n## 0.1.0\n\nFirst.\n",
            "CHANGELOG.md must have nothing under Unreleased, got 2 lines; move them to ## 0.1.0",
        ),
    ],
)
def test_a_changelog_that_lacks_the_section_is_refused(changelog: str, message: str) -> None:
    with pytest.raises(ReleaseError) as raised:
        source.section(changelog, "0.1.0")
    assert str(raised.value) == message


def test_a_section_may_have_a_date_and_ends_at_the_next_one() -> None:
    assert (
        source.section("## Unreleased\n## 0.1.0 (2026-11-23)\n\n### Fixed\n\n- One\n\n## 0.0.9\n\nOld.\n", "0.1.0")
        == "### Fixed\n\n- One\n"
    )


def test_the_export_holds_committed_files_alone(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (repository / "ignored").write_text("a key")
    target = tmp_path_factory.mktemp("export")
    source.export(target)
    assert {path.name for path in target.iterdir()} == {"pyproject.toml", "CHANGELOG.md", ".gitignore"}


def test_a_folder_without_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(ReleaseError, match=r"^git status must succeed, got: fatal: not a git repository"):
        source.git("status")


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

    def build(*_: object, SETUPTOOLS_EXT_SUFFIX: str, **__: str) -> None:  # noqa: N803 - a variable of the environment
        assert SETUPTOOLS_EXT_SUFFIX.endswith("-linux-musl.so")
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
