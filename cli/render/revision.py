"""Files as they were in a revision of git. Reads the repository that a path lies in, and changes nothing there."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatch
from pathlib import Path

from cli.check.sources import SUFFIXES
from cli.exits import UsageError
from cli.files import STDIN

_PATIENCE = 60  # seconds for one call of git, which reads local files


def texts_at(revision: str, paths: list[str], files: list[str], excluded: list[str]) -> dict[str, str]:
    """The texts of files at a revision, by the path that they have now; a file that wasn't there then is left out.

    `paths` and `excluded` are what the command was given, `files` what they mean today. Files of a folder that are gone today count too.

    Raises: UsageError when there is no such revision, no repository, or no git.
    """
    if not revision or revision.startswith("-") or "\0" in revision:
        raise UsageError(f"--against {revision}: must be a revision of git, such as main or HEAD~1")
    if STDIN in paths:
        raise UsageError("--against can't know what standard input was in a revision")
    wanted = dict.fromkeys(files)
    for path in paths:
        if Path(path).is_dir():
            gone = (
                file
                for file in _listed(revision, path)
                if not any(fnmatch(part, one) for part in (file, *Path(file).parts) for one in excluded)
            )
            wanted.update(dict.fromkeys(gone))
    found = {}
    for file in wanted:
        text = _text(revision, Path(file))
        if text is not None:
            found[file] = text
    return found


def _listed(revision: str, folder: str) -> list[str]:
    names = _git(Path(folder), revision, "ls-tree", "-r", "-z", "--name-only", revision, ".")
    if names is None:
        return []
    hidden = (name for name in names.split("\0") if name.endswith(SUFFIXES))
    return sorted(str(Path(folder) / name) for name in hidden if not any(part.startswith(".") for part in Path(name).parts))


def _text(revision: str, file: Path) -> str | None:
    return _git(file.parent, revision, "show", f"{revision}:./{file.name}")


def _git(folder: Path, revision: str, *words: str) -> str | None:
    """What git prints; None when what is asked for isn't in the revision."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_PATIENCE)  # noqa: S603 - no shell, the words are checked
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
        known = ["git", "-C", str(folder), "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
        commit = subprocess.run(known, capture_output=True, check=False, timeout=_PATIENCE)  # noqa: S603 - as above
    except FileNotFoundError:
        raise UsageError("--against needs git, which can't be found") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"--against {revision}: git did not answer within {_PATIENCE} seconds") from None
    if commit.returncode:
        raise UsageError(f"--against {revision}: {folder} is in no repository of git that has this revision")
    return None
