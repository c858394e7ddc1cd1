"""Reads and judges a project file.

A repository may be a stranger's: every path must lie in it, and nothing is run.
"""

# ruff: noqa: PTH110, PTH112, PTH113, PTH116, PTH117, PTH118 - pathlib takes longer to import than a small file takes to check

import json
import os
import stat
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, NoReturn

from ...api.line import Line
from ...api.paths import Path, format_path
from ...api.wording import URL, shorten
from ..console.exits import UsageError
from ..console.kubernetes import read_minor
from ..console.nearest import did_you_mean
from ..files.read import STDIN, is_within, load_text
from ..yaml.load import Document, InputError, load_documents
from . import keys
from .discover import NAME, ProjectLocation
from .reports import SUFFIXES, ReportRequest

_WILD: Final = frozenset("*?[")
_MAX_VALUE_CHARACTERS: Final = 80  # of a wrong value in a message


class Severity(NamedTuple):
    """The project file's setting of a rule: error, warning or off, the reason, and its position."""

    level: str
    reason: str
    origin: str


def show_path(path: str) -> str:
    """A path relative to the working directory."""
    return os.path.relpath(path, os.path.realpath(os.curdir))


class ProjectReader:
    """Turns the file's content into values, or reports its errors."""

    def __init__(self, file: str, location: ProjectLocation, document: Document) -> None:
        """`location` is the folder of the file, and the repository's root."""
        self.file = file
        self.location = location
        self.document = document

    def names(self) -> list[str]:
        """The keys that are given, in the order of the table."""
        for name in self.document.data:
            self._known((name,), name, keys.BY_NAME, "key")
        return [name for name in keys.BY_NAME if name in self.document.data]

    def value(self, name: str) -> Any:
        """The value of a key in its shape."""
        data, path = self.document.data[name], (name,)
        match keys.BY_NAME[name].shape:
            case keys.PATHS:
                return tuple(self._input((name, index), text) for index, text in enumerate(self._texts(path, data)))
            case keys.INSIDE:
                return [self._inside((name, index), text) for index, text in enumerate(self._texts(path, data))]
            case keys.GLOBS:
                return self._texts(path, data)
            case keys.LINE:
                return self._line(path, data)
            case keys.PATH:
                return self._path(path, data)
            case keys.KUBERNETES:
                return self._minor(path, data)
            case keys.URL:
                return self._url(path, data)
            case keys.RULES:
                return self._rules(path, data)
            case _:
                return _requests({form: self._output((name, form), form, output) for form, output in self._mapping(path, data).items()})

    def _line(self, path: Path, data: Any) -> Line:
        return Line(self._choice(path, str(data) if isinstance(data, float) else data, keys.LINES))

    def _minor(self, path: Path, data: Any) -> int:
        try:
            return read_minor(self._text(path, data))
        except ValueError as error:
            self._wrong(path, str(error))

    def _url(self, path: Path, data: Any) -> str:
        if not isinstance(data, str) or not URL.fullmatch(data):
            self._wrong(path, f"must be a URL such as https://docs.example.org/, got {quote(data)}")
        return data

    def _rules(self, path: Path, data: Any) -> dict[str, Severity]:
        return {rule: self._severity((*path, rule), rule, severity) for rule, severity in self._mapping(path, data).items()}

    def _origin(self, path: Path) -> str:
        return f"{self.file}:{self.document.position(path).line}"

    def _input(self, path: Path, text: str) -> str:
        shown = self._path(path, text)
        if _WILD.intersection(shown) and not os.path.lexists(shown):
            self._wrong(path, f"must be a file or folder, got {quote(text)}; exclude takes globs")
        return shown

    def _path(self, path: Path, data: Any) -> str:
        """A path in the repository, where git's own files are not ours to read or write."""
        text = self._text(path, data)
        location, absolute = self.location, "\0" in text or os.path.isabs(text)
        real = "" if absolute else os.path.realpath(os.path.join(location.folder, text))
        if absolute or not is_within(real, location.root):
            self._wrong(path, f"must be a path in the repository, relative to this file, got {quote(text)}")
        if os.path.exists(real) and not (os.path.isfile(real) or os.path.isdir(real)):
            self._wrong(path, f"must be a file or folder, {quote(text)} is a pipe or device")
        if {".git", "git~1"}.intersection(part.lower() for part in os.path.relpath(real, location.root).split("/")):
            self._wrong(path, f"must not be a file of git itself, got {quote(text)}")
        shown = show_path(os.path.join(location.folder, text))
        return os.path.join(os.curdir, shown) if shown == "-" else shown

    def _inside(self, path: Path, text: str) -> str:
        shown = self._input(path, text)
        if not is_within(os.path.realpath(shown), self.location.folder):
            self._wrong(path, f"must be in the folder of this file or below, got {quote(text)}")
        if not os.path.exists(shown):
            self._wrong(path, f"must be a file or folder that exists, got {quote(text)}")
        return shown

    def _severity(self, path: Path, rule: str, data: Any) -> Severity:
        from ...policies.catalogue import list_all

        if not rule.startswith(keys.USER):  # those are known once the files of rules-from are read
            self._known(path, rule, [entry.name for entry in list_all()], "rule")
        fields, words = self._mapping(path, data), ("severity", "reason")
        for word in fields:
            self._known((*path, word), word, words, "key")
        for word in words:
            if word not in fields:
                self._wrong(path, f"must have a {word}")
        # a decoder of YAML 1.1 reads off as false
        level = keys.OFF if fields["severity"] is False else fields["severity"]
        self._choice((*path, "severity"), level, keys.SEVERITIES)
        return Severity(level, self._text((*path, "reason"), fields["reason"]), self._origin(path))

    def _output(self, path: Path, form: str, data: Any) -> str:
        self._known(path, form, SUFFIXES, "format")
        if data == "-":
            return "-"
        shown = self._path(path, data)
        if not is_within(os.path.realpath(shown), self.location.folder):
            self._wrong(path, f"must be a file in the folder of this file or below, got {quote(data)}")
        if not shown.lower().endswith(SUFFIXES[form]):
            self._wrong(path, f"must end in {' or '.join(SUFFIXES[form])}, got {quote(data)}")
        return shown

    def _texts(self, path: Path, data: Any) -> list[str]:
        return [self._text((*path, index), item) for index, item in enumerate(self._list(path, data))]

    def _list(self, path: Path, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self._wrong(path, f"must be a list, got {quote(data)}")
        return data

    def _text(self, path: Path, data: Any) -> str:
        if not isinstance(data, str) or not data.strip():
            self._wrong(path, f"must be a text that is not empty, got {quote(data)}")
        return data

    def _mapping(self, path: Path, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self._wrong(path, f"must be a mapping, got {quote(data)}")
        return data

    def _choice(self, path: Path, data: Any, known: tuple[str, ...]) -> str:
        if data not in known:
            near = did_you_mean(data, known) if isinstance(data, str) else ""
            self._wrong(path, f"must be one of {', '.join(known)}, got {quote(data)}{near}")
        return str(data)

    def _known(self, path: Path, word: str, known: Any, what: str) -> None:
        if word not in known:
            short = f"; known here: {', '.join(known)}" if len(known) <= len(keys.KEYS) else ""
            self._wrong(path, f"there is no such {what}{did_you_mean(word, known) or short}")

    def _wrong(self, path: Path, text: str) -> NoReturn:
        raise UsageError(f"{self._origin(path)}: {shorten(format_path(path), 200)}: {text}")


def quote(data: Any) -> str:
    """A value as messages show it."""
    return shorten(json.dumps(data, ensure_ascii=False), _MAX_VALUE_CHARACTERS)


_MAX_FILE_BYTES: Final = 2**20


class Project(NamedTuple):
    """A project file that can be used; paths are as commands show them, relative to the working directory."""

    name: str
    values: Mapping[str, Any]  # of the keys that are given, each in its shape
    origins: Mapping[str, str]  # the file and line of each
    folder: str  # that `exclude` is relative to


def _look(real: str, file: str) -> None:
    """Raises: UsageError for a path that is no file, or a long file. A path that can't be examined is reported when it is read."""
    try:
        status = os.stat(real)
    except OSError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{file}: must be a file, is a {'folder' if stat.S_ISDIR(status.st_mode) else 'pipe or device'}")
    if status.st_size > _MAX_FILE_BYTES:
        raise UsageError(f"{file}: must be at most {_MAX_FILE_BYTES // 2**20} MiB long, got {status.st_size // 2**20} MiB")


def load(location: ProjectLocation) -> Project:
    """Reads the file. Raises: UsageError, one sentence with file and line, for the first unfit value."""
    file = show_path(os.path.join(location.folder, NAME))
    real = os.path.realpath(file)
    if not is_within(real, location.root):
        raise UsageError(f"{file}: must lie in the repository, and is a link out of it")
    _look(real, file)
    document = _document(file)
    if document is None:
        return Project(file, {}, {}, location.folder)
    judge = ProjectReader(file, location, document)
    values = {name: judge.value(name) for name in judge.names()}
    origins = {name: f"{file}:{document.position((name,)).line}" for name in values}
    return Project(file, values, origins, location.folder)


def _document(file: str) -> Document | None:
    try:
        documents = load_documents(load_text(file), file)
    except InputError as error:
        raise UsageError(str(error)) from None
    if not documents:
        return None
    if len(documents) > 1 or not isinstance(documents[0].data, dict):
        raise UsageError(f"{file}:{documents[-1].position(()).line}: must be one mapping; known keys: {', '.join(keys.BY_NAME)}")
    return documents[0]


def _requests(outputs: Mapping[str, str]) -> tuple[ReportRequest, ...]:
    """Reports to files are beside the text that is printed, unless one of them is printed itself."""
    requests = tuple(ReportRequest(form, "" if file == STDIN else file) for form, file in outputs.items())
    return requests if any(not request.file for request in requests) else (ReportRequest("text"), *requests)
