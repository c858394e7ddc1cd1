"""Reads a project file and judges it. A repository may be a stranger's: every path must lie in it, and nothing is run."""

# ruff: noqa: PTH118 - pathlib takes longer to import than a small file takes to check

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.nearest import hint
from dynamo_webhooks.cli.project import keys
from dynamo_webhooks.cli.project.found import NAME, Place, is_within

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.cli.yaml.load import Document

_WILD: Final = frozenset("*?[")
_SHOWN: Final = 80  # characters of a wrong value
_LONGEST: Final = 2**20  # bytes of a project file


class Severity(NamedTuple):
    """What a project file makes of a rule: error, warning or off, why, and where that stands."""

    level: str
    reason: str
    origin: str


class Project(NamedTuple):
    """A project file that can be used; paths are as commands show them, relative to the working directory."""

    file: str
    place: Place
    values: Mapping[str, Any]  # of the keys that are given, each in its shape
    origins: Mapping[str, str]  # the file and line of each


def _look(real: str, file: str) -> None:
    """Raises: UsageError for what is no file, or a long one. Of what can't be looked at, who reads it tells."""
    try:
        status = os.stat(real)  # noqa: PTH116 - as above
    except OSError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{file}: must be a file, is a {'folder' if stat.S_ISDIR(status.st_mode) else 'pipe or device'}")
    if status.st_size > _LONGEST:
        raise UsageError(f"{file}: must be at most {_LONGEST // 2**20} MiB long, got {status.st_size // 2**20} MiB")


def load(place: Place) -> Project:
    """Reads the file. Raises: UsageError, one sentence with file and line, for the first thing that can't be used."""
    file = _shown(os.path.join(place.folder, NAME))
    real = os.path.realpath(os.path.join(place.folder, NAME))
    if not is_within(real, place.root):
        raise UsageError(f"{file}: must lie in the repository, and is a link out of it")
    _look(real, file)
    document = _document(file)
    if document is None:
        return Project(file, place, {}, {})
    judge = _Judge(file, place, document)
    values = {name: judge.value(name) for name in judge.names()}
    return Project(file, place, values, {name: f"{file}:{document.position((name,)).line}" for name in values})


def _document(file: str) -> Document | None:
    from dynamo_webhooks.cli.files import load_text
    from dynamo_webhooks.cli.yaml.load import InputError
    from dynamo_webhooks.cli.yaml.load import load as load_documents

    try:
        documents = load_documents(load_text(file), file)
    except InputError as error:
        raise UsageError(str(error)) from None
    if not documents:
        return None
    if len(documents) > 1 or not isinstance(documents[0].data, dict):
        raise UsageError(f"{file}:{documents[-1].position(()).line}: must hold one mapping; known keys: {', '.join(keys.BY_NAME)}")
    return documents[0]


def _shown(path: str) -> str:
    return os.path.relpath(path, os.path.realpath(os.curdir))


class _Judge:
    """Turns what the file says into values, or says what is wrong with it."""

    def __init__(self, file: str, place: Place, document: Document) -> None:
        self.file = file
        self.place = place
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
                return [self._input((name, index), one) for index, one in enumerate(self._texts(path, data))]
            case keys.GLOBS:
                return self._texts(path, data)
            case keys.PROFILE:
                return self._choice(path, "1.2" if data == 1.2 else data, keys.PROFILES)  # YAML reads the number
            case keys.LINE:
                return self._choice(path, str(data) if isinstance(data, float) else data, keys.LINES)
            case keys.PATH:
                return self._path(path, data)
            case keys.RULES:
                return {rule: self._severity((name, rule), rule, one) for rule, one in self._mapping(path, data).items()}
            case _:
                return {form: self._output((name, form), form, one) for form, one in self._mapping(path, data).items()}

    def _input(self, path: Path, text: str) -> str:
        shown = self._path(path, text)
        if _WILD.intersection(shown) and not os.path.lexists(shown):
            self._wrong(path, f"must be a file or folder, got {_quoted(text)}; exclude takes globs")
        return shown

    def _path(self, path: Path, data: Any) -> str:
        """A path in the repository, where git's own files are not ours to read or write."""
        text = self._text(path, data)
        place, absolute = self.place, "\0" in text or os.path.isabs(text)  # noqa: PTH117 - as above
        real = "" if absolute else os.path.realpath(os.path.join(place.folder, text))
        if absolute or not is_within(real, place.root):
            self._wrong(path, f"must be a path in the repository, relative to this file, got {_quoted(text)}")
        if os.path.exists(real) and not (os.path.isfile(real) or os.path.isdir(real)):  # noqa: PTH110, PTH112, PTH113 - as above
            self._wrong(path, f"must be a file or folder, {_quoted(text)} is a pipe or device")
        if {".git", "git~1"}.intersection(part.lower() for part in os.path.relpath(real, place.root).split("/")):
            self._wrong(path, f"must not be a file of git itself, got {_quoted(text)}")
        shown = _shown(os.path.join(place.folder, text))
        return os.path.join(os.curdir, shown) if shown == "-" else shown

    def _severity(self, path: Path, rule: str, data: Any) -> Severity:
        from dynamo_webhooks.cli.check.record import OWN_RULES
        from dynamo_webhooks.policies.catalogue import declared

        self._known(path, rule, [*(one.name for one in declared()), *(one.name for one in OWN_RULES)], "rule")
        fields = self._mapping(path, data)
        for word in fields:
            self._known((*path, word), word, ("severity", "reason"), "key")
        for word in ("severity", "reason"):
            if word not in fields:
                self._wrong(path, f"must have a {word}")
        # a decoder of YAML 1.1 reads off as false
        level = keys.OFF if fields["severity"] is False else fields["severity"]
        self._choice((*path, "severity"), level, keys.SEVERITIES)
        origin = f"{self.file}:{self.document.position(path).line}"
        return Severity(level, self._text((*path, "reason"), fields["reason"]), origin)

    def _output(self, path: Path, form: str, data: Any) -> str:
        from dynamo_webhooks.cli.check.outputs import FORMATS

        self._known(path, form, FORMATS, "format")
        return "-" if data == "-" else self._path(path, data)

    def _texts(self, path: Path, data: Any) -> list[str]:
        if not isinstance(data, list):
            self._wrong(path, f"must be a list, got {_quoted(data)}")
        return [self._text((*path, index), one) for index, one in enumerate(data)]

    def _text(self, path: Path, data: Any) -> str:
        if not isinstance(data, str) or not data.strip():
            self._wrong(path, f"must be a text that is not empty, got {_quoted(data)}")
        return data

    def _mapping(self, path: Path, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self._wrong(path, f"must be a mapping, got {_quoted(data)}")
        return data

    def _choice(self, path: Path, data: Any, known: tuple[str, ...]) -> str:
        if data not in known:
            near = hint(data, known) if isinstance(data, str) else ""
            self._wrong(path, f"must be one of {', '.join(known)}, got {_quoted(data)}{near}")
        return str(data)

    def _known(self, path: Path, word: str, known: Any, what: str) -> None:
        if word not in known:
            short = f"; known here: {', '.join(known)}" if len(known) < 10 else ""
            self._wrong(path, f"there is no such {what}{hint(word, known) or short}")

    def _wrong(self, path: Path, text: str) -> NoReturn:
        raise UsageError(f"{self.file}:{self.document.position(path).line}: {shortened(render(path), 200)}: {text}")


def _quoted(data: Any) -> str:
    import json

    return shortened(json.dumps(data, ensure_ascii=False), _SHOWN)
