"""The commit that a release is made of: tagged with its version, without changes beside it, and described in the changelog."""

import io
import os
import re
import subprocess
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
REPOSITORY: Final = "OWNER/dynamo-webhooks"  # as the pages name it, until REPOSITORY says more
_TAG: Final = re.compile(r"v(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)")
_TIMEOUT_SECONDS: Final = 60  # for Git


class ReleaseError(Exception):
    """Nothing can be released; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Source:
    """One tagged commit."""

    version: str
    commit: str
    epoch: int  # seconds: the time of the commit
    notes: str  # the section of the changelog
    url: str  # of the repository


def read_source() -> Source:
    """The commit that is checked out. Raises: ReleaseError."""
    version = _tagged(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"])
    if changed := git("status", "--porcelain").decode().splitlines():
        raise ReleaseError(f"the working tree must be clean, got {len(changed)} changed or new files; commit or remove them")
    notes = section((ROOT / "CHANGELOG.md").read_text("utf-8"), version)
    commit, time = git("show", "--no-patch", "--format=%H %ct", "HEAD").decode().split()
    return Source(version, commit, int(time), notes, f"https://github.com/{os.environ.get('REPOSITORY') or REPOSITORY}")


def _tagged(declared: str) -> str:
    """The version that the commit's tag names, which must be the declared one."""
    names = git("tag", "--points-at", "HEAD").decode().split()
    versions = [match[1] for name in names if (match := _TAG.fullmatch(name))]
    wanted = f"HEAD must have the tag v{declared}, after the version in pyproject.toml"
    if not versions:
        raise ReleaseError(f"{wanted}, got none; run git tag v{declared}")
    if versions != [declared]:
        raise ReleaseError(f"{wanted}, and no other of a version, got {', '.join(f'v{each}' for each in versions)}; correct one of both")
    return declared


def section(changelog: str, version: str) -> str:
    """The section of a version. Raises: ReleaseError where there is none, or changes above it."""
    parts = re.split(r"^## (.+)\n", changelog, flags=re.MULTILINE)
    sections = {title.split()[0]: text.strip() for title, text in zip(parts[1::2], parts[2::2], strict=True)}
    if not sections.get(version):
        raise ReleaseError(f"CHANGELOG.md must have a section ## {version} with text, got {', '.join(sections)}; write it")
    if waiting := sections.get("Unreleased", "").splitlines():
        raise ReleaseError(f"CHANGELOG.md must have nothing under Unreleased, got {len(waiting)} lines; move them to ## {version}")
    return sections[version] + "\n"


def export(target: Path, commit: str = "HEAD") -> None:
    """Writes the files of a commit, and no others, into an empty folder."""
    with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", commit))) as archive:
        archive.extractall(target, filter="data")


def git(*words: str) -> bytes:
    """Runs a Git command in this repository and returns its output. Raises: ReleaseError."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False, timeout=_TIMEOUT_SECONDS)  # noqa: S603, S607
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReleaseError(f"git {words[0]} must run here, got {type(error).__name__}") from error
    if done.returncode:
        raise ReleaseError(f"git {words[0]} must succeed, got: {done.stderr.decode(errors='replace').strip()[:500]}")
    return done.stdout
