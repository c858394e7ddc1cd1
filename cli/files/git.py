"""Asks git about local repositories, and says in one sentence why it can't answer. It is never asked to change anything, or to fetch.

A repository may be a stranger's: nothing that its configuration names is run.
"""

import os
import subprocess
from pathlib import Path
from typing import Final, NoReturn

from ..console.exits import UsageError
from .programs import run

_PATIENCE: Final = 120  # seconds for one call, which reads local files
# a hook of git passes on where its own repository is, and we may be asked about another
_OWN: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
_QUIETLY: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    # what a partial clone lacks would be fetched, by a command of its configuration if that allows one (ext::)
    "GIT_ALLOW_PROTOCOL": "none",  # wins over protocol.*.allow of every configuration
    "GIT_NO_LAZY_FETCH": "1",  # known to git 2.45 and newer
    "LC_ALL": "C",
}
# the calls below ask for none of these; a later one may
_INERT: Final = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")


def root_of(path: str) -> str | None:
    """The repository's folder that contains a path without links; None outside of a repository."""
    for folder in (Path(path), *Path(path).parents):
        try:
            if (folder / ".git").exists():  # a file in a linked work tree or submodule
                return str(folder)
        except OSError:  # a name that is too long can't be a folder
            continue
    return None


def commit_of(root: str, revision: str, flag: str) -> str:
    """The commit that a revision names in a repository. Raises: UsageError, whose sentence begins with the flag."""
    if not revision or revision.startswith("-") or "\0" in revision:
        raise UsageError(f"{flag} {revision!a}: must be a revision of git, such as main or HEAD~1")
    found = _commit(root, revision, flag)
    if found is not None:
        return found
    nearby = f"origin/{revision}"
    if _commit(root, nearby, flag) is not None:
        raise UsageError(f"{flag} {revision}: {root} has no such revision; did you mean {nearby}?")
    if _run(root, flag, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
        text = "is a shallow clone without this revision; fetch it first (git fetch --depth 1 origin REF, or fetch-depth: 0 in a workflow)"
        raise UsageError(f"{flag} {revision}: {root} {text}")
    raise UsageError(f"{flag} {revision}: {root} has no such revision")


def ask(root: str, flag: str, *words: str, given: bytes = b"") -> bytes:
    """What git prints. Raises: UsageError with its first sentence when it fails."""
    done = _run(root, flag, *words, given=given)
    if done.returncode:
        _refused(root, flag, done.stderr)
    return done.stdout


def _commit(root: str, revision: str, flag: str) -> str | None:
    done = _run(root, flag, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if done.returncode and b"dubious ownership" in done.stderr:
        text = f"{root} belongs to another user, so git won't read it; allow it with git config --global --add safe.directory {root}"
        raise UsageError(f"{flag} {revision}: {text}")
    if done.returncode and b"not a git repository" in done.stderr:
        raise UsageError(f"{flag} {revision}: git finds no repository in {root}, though it has a .git; repair or remove that")
    return None if done.returncode else done.stdout.decode("ascii").strip()


def _refused(root: str, flag: str, stderr: bytes) -> NoReturn:
    if b"promisor remote" in stderr:
        how = "fetch them first (git fetch --refetch --no-filter), or clone without --filter"
        raise UsageError(f"{flag}: {root} is a partial clone that lacks files of this revision; {how}")
    lines = stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
    raise UsageError(f"{flag}: git can't read {root}: {lines[0].removeprefix('fatal: ')}")


def _run(root: str, flag: str, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {key: value for key, value in os.environ.items() if key not in _OWN} | _QUIETLY
    try:
        # no word begins with a hyphen that we didn't write
        return run(["git", *_INERT, "-C", root, *words], _PATIENCE, given=given, environment=environment)
    except (FileNotFoundError, PermissionError):
        raise UsageError(f"{flag} needs git, which can't be found") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{flag}: git did not answer within {_PATIENCE} seconds") from None
