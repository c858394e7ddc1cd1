"""Files as they were in a revision of git, in the repositories that paths lie in.

Git is asked about local repositories alone, never to change anything, or to fetch. A repository may be a stranger's: nothing that its
configuration names is run.
"""

# ruff: noqa: PTH110, PTH112, PTH118, PTH120 - pathlib is slow, and raises for a path that is too long; every file is asked for

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..console.exits import UsageError
from ..yaml.errors import InputError
from .find import is_excluded, is_text
from .programs import run_program
from .read import MAX_FILE_BYTES, STDIN, decode, list_folders_above

_CALL_TIMEOUT_SECONDS: Final = 120  # which reads local files
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
FLAG: Final = "--against"
_REGULAR: Final = frozenset({b"100644", b"100755", b"100664"})  # links and submodules hold no text of their own
_MAX_CALL_BYTES: Final = 64 * 2**20  # that git is asked for in one call


def find_root(path: str) -> str | None:
    """The repository's folder that contains a path without links; None outside of a repository."""
    # in a linked work tree or submodule it is a file
    return next((folder for folder in list_folders_above(path) if os.path.exists(os.path.join(folder, ".git"))), None)


def find_commit(root: str, revision: str, flag: str) -> str:
    """The commit that a revision names in a repository. Raises: UsageError, whose sentence begins with the flag."""
    if not revision or revision.startswith("-") or "\0" in revision:
        raise UsageError(f"{flag} {revision!a}: must be a revision of git, such as main or HEAD~1")
    commit = _commit(root, revision, flag)
    if commit is not None:
        return commit
    nearby = f"origin/{revision}"
    if _commit(root, nearby, flag) is not None:
        raise UsageError(f"{flag} {revision}: {root} has no such revision; did you mean {nearby}?")
    if _run(root, flag, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
        text = "is a shallow clone without this revision; fetch it first (git fetch --depth 1 origin REF, or fetch-depth: 0 in a workflow)"
        raise UsageError(f"{flag} {revision}: {root} {text}")
    raise UsageError(f"{flag} {revision}: {root} has no such revision")


def run_git(root: str, flag: str, *words: str, input_data: bytes = b"") -> bytes:
    """Run git and return its output. Raises: UsageError with its first sentence when it fails."""
    done = _run(root, flag, *words, input_data=input_data)
    if b"promisor remote" in done.stderr and done.returncode:
        how = "fetch them first (git fetch --refetch --no-filter), or clone without --filter"
        raise UsageError(f"{flag}: {root} is a partial clone that lacks files of this revision; {how}")
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise UsageError(f"{flag}: git can't read {root}: {lines[0].removeprefix('fatal: ')}")
    return done.stdout


def _commit(root: str, revision: str, flag: str) -> str | None:
    done = _run(root, flag, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if done.returncode and b"dubious ownership" in done.stderr:
        text = f"{root} belongs to another user, so git won't read it; allow it with git config --global --add safe.directory {root}"
        raise UsageError(f"{flag} {revision}: {text}")
    if done.returncode and b"not a git repository" in done.stderr:
        raise UsageError(f"{flag} {revision}: git finds no repository in {root}, though it has a .git; repair or remove that")
    return None if done.returncode else done.stdout.decode("ascii").strip()


def _run(root: str, flag: str, *words: str, input_data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {key: value for key, value in os.environ.items() if key not in _OWN} | _QUIETLY
    try:
        # no word begins with a hyphen that we didn't write
        return run_program(["git", *_INERT, "-C", root, *words], _CALL_TIMEOUT_SECONDS, input_data=input_data, environment=environment)
    except (FileNotFoundError, PermissionError):
        raise UsageError(f"{flag} needs git, which can't be found") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{flag}: git did not answer within {_CALL_TIMEOUT_SECONDS} seconds") from None


class _Blob(NamedTuple):
    """A file, where git keeps it, and its length in bytes."""

    name: str
    id: str
    size: int


class GitTree:
    """A repository at a revision: its files by path from its root, and their contents."""

    def __init__(self, revision: str, root: str, flag: str = FLAG) -> None:
        """`root` is the repository's folder. Raises: UsageError when there is no such revision, or git can't read it."""
        self.revision = revision
        self.root = root
        self._flag = flag
        listing = run_git(root, flag, "ls-tree", "-r", "-z", "--full-tree", find_commit(root, revision, flag))
        self._blobs = dict(_listed(listing))  # name -> what git keeps it under

    def __contains__(self, name: str) -> bool:
        """Whether there was such a file."""
        return name in self._blobs

    def __iter__(self) -> Iterator[str]:
        """The names of all files, in git's order."""
        return iter(self._blobs)

    def texts(self, names: Iterable[str], holding: str = "") -> Iterator[tuple[str, str | InputError]]:
        """The texts of files that were there and hold a word, or why one can't be read. Raises: UsageError when git can't read one."""
        wanted = [(name, self._blobs[name]) for name in names if name in self._blobs]
        sizes = [int(size) for size in self._read_batch(wanted, "--batch-check=%(objectsize)").splitlines() if size.isdigit()]
        if len(sizes) < len(wanted):
            raise UsageError(
                f"{self._flag} {self.revision}: {self.root} lacks files of this revision, or they are damaged; git fsck says more"
            )
        blobs = [_Blob(name, blob, size) for (name, blob), size in zip(wanted, sizes, strict=True)]
        for blob in blobs:
            if blob.size > MAX_FILE_BYTES:
                yield blob.name, InputError(f"is larger than {MAX_FILE_BYTES // 2**20} MiB", self.display_name(blob.name))
        for group in _groups(blob for blob in blobs if blob.size <= MAX_FILE_BYTES):
            for name, data in self._contents(group):
                if holding.encode() not in data:
                    continue
                try:
                    yield name, decode(data, self.display_name(name))
                except InputError as error:
                    yield name, error

    def display_name(self, name: str) -> str:
        """A file of the revision as git itself would write it."""
        return f"{self.revision}:{name}"

    def _contents(self, group: list[_Blob]) -> Iterator[tuple[str, bytes]]:
        out = self._read_batch([(blob.name, blob.id) for blob in group], "--batch")
        at = 0
        for blob in group:
            begin = out.index(b"\n", at) + 1
            yield blob.name, out[begin : begin + blob.size]
            at = begin + blob.size + 1

    def _read_batch(self, wanted: list[tuple[str, str]], how: str) -> bytes:
        return (
            run_git(self.root, self._flag, "cat-file", how, input_data="".join(f"{blob}\n" for _, blob in wanted).encode())
            if wanted
            else b""
        )


class GitTrees:
    """A revision in every repository that is asked for it; each is read once."""

    def __init__(self, revision: str, flag: str = FLAG) -> None:
        """`revision` is as given to the flag."""
        self.revision = revision
        self._flag = flag
        self._trees: dict[str, GitTree] = {}
        self._roots: dict[str, str | None] = {}

    def locate(self, path: str) -> tuple[GitTree, str]:
        """The repository of a path, and the path from its root, empty for that. Raises: UsageError without repository, revision or git."""
        real = os.path.realpath(path)
        # a folder may be the root of a repository itself
        folder = real if os.path.isdir(real) else os.path.dirname(real)
        if folder not in self._roots:
            self._roots[folder] = find_root(folder)
        root = self._roots[folder]
        if root is None:
            raise UsageError(f"{self._flag} {self.revision}: {path} is in no repository of git")
        if root not in self._trees:
            self._trees[root] = GitTree(self.revision, root, self._flag)
        name = os.path.relpath(real, root).replace(os.sep, "/")
        return self._trees[root], "" if name == "." else name


def read_revision(revision: str, paths: Sequence[str], files: Sequence[str], excluded: Sequence[str]) -> dict[str, str | InputError]:
    """The texts of files at a revision, by their paths today; a file that wasn't there is left out, one of a folder that is gone counts.

    `paths` and `excluded` are what the command was given, `files` what they mean today. Raises: UsageError without revision or git.
    """
    if STDIN in paths:
        raise UsageError(f"{FLAG} can't know what standard input was in a revision")
    trees = GitTrees(revision)
    wanted: dict[GitTree, dict[str, str]] = {}  # name in the tree -> path
    for file in files:
        tree, name = trees.locate(file)
        wanted.setdefault(tree, {})[name] = file
    for path in paths:
        if os.path.isdir(path):
            tree, folder = trees.locate(path)
            for name, full in list_below(tree, folder):
                file = str(Path(path, name))
                if not is_excluded(file, excluded):
                    wanted.setdefault(tree, {}).setdefault(full, file)
    texts = {names[name]: text for tree, names in wanted.items() for name, text in tree.texts(names)}
    return dict(sorted(texts.items()))


def list_below(tree: GitTree, folder: str) -> Iterator[tuple[str, str]]:
    """The YAML and JSON files of a folder in a revision, as (path from the folder, path from the root); hidden folders are left out."""
    prefix = f"{folder}/" if folder else ""
    for full in tree:
        name = full.removeprefix(prefix)
        if full.startswith(prefix) and is_text(name) and not any(part.startswith(".") for part in name.split("/")[:-1]):
            yield name, full


def _listed(listing: bytes) -> Iterator[tuple[str, str]]:
    for entry in listing.split(b"\0"):
        about, _, name = entry.partition(b"\t")
        if about and about.split(b" ", 1)[0] in _REGULAR:
            yield os.fsdecode(name), about.rsplit(b" ", 1)[1].decode("ascii")


def _groups(blobs: Iterable[_Blob]) -> Iterator[list[_Blob]]:
    """Split paths into batches for one command each."""
    group: list[_Blob] = []
    size = 0
    for blob in blobs:
        if group and size + blob.size > _MAX_CALL_BYTES:
            yield group
            group, size = [], 0
        group.append(blob)
        size += blob.size
    if group:
        yield group
