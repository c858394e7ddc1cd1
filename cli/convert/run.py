"""Converts the objects of one file and says what happened; writing files and exit codes are the command's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from api.kinds import BY_NAME, GROUP, api_version
from api.paths import render
from cli.convert.remains import remains
from cli.convert.texts import Piece, pieces, written
from conversion.kinds import KINDS
from conversion.lens.protocol import ConversionError
from conversion.objects import Target, convert_object, target

if TYPE_CHECKING:
    from cli.yaml.load import InputError


class Outcome(NamedTuple):
    """A file after conversion. `values` are all its documents; `objects` counts those of our kinds, converted or not."""

    text: str
    values: list[Any]
    objects: int
    converted: int
    notes: list[str]  # what went into the remainder, and other things to know
    failures: list[str]
    unreadable: list[InputError]


def convert_text(name: str, text: str, version: str, *, verify: bool) -> Outcome:
    """Converts every object of a converting kind in a text; other documents stay byte for byte."""
    return _File(name, version, verify=verify).run(text)


class _File:
    """One file on its way."""

    def __init__(self, name: str, version: str, *, verify: bool) -> None:
        self.name = name
        self.target = target(api_version(version))
        self.verify = verify
        self.objects = self.converted = 0
        self.notes: list[str] = []
        self.failures: list[str] = []
        self.unreadable: list[InputError] = []

    def run(self, text: str) -> Outcome:
        parts: list[str] = []
        values: list[Any] = []
        for piece in pieces(self.name, text):
            self.unreadable += piece.errors
            before = [document.data for document in piece.documents]
            # a piece that can't be read as a whole could not be written as a whole
            after = before if piece.errors else [self._value(data, piece) for data in before]
            values += after
            same = all(new is old for new, old in zip(after, before, strict=True))
            parts.append(piece.text if same else written(piece, after))
            if not same and piece.loses_comments:
                self.notes.append(f"{self.name}:{piece.line}: comments inside the converted document are lost")
        return Outcome("".join(parts), values, self.objects, self.converted, self.notes, self.failures, self.unreadable)

    def _value(self, data: Any, piece: Piece, depth: int = 0) -> Any:
        """The document converted, or the very same value where nothing is to be done."""
        if not isinstance(data, dict):
            return data
        items, kind = data.get("items"), data.get("kind")
        if isinstance(items, list) and isinstance(kind, str) and kind.endswith("List") and depth < _DEEPEST_LIST:
            converted = [self._value(item, piece, depth + 1) for item in items]
            if all(new is old for new, old in zip(converted, items, strict=True)):
                return data
            versions = {"apiVersion": self.target.api_version} if kind.removesuffix("List") in KINDS else {}
            return {**data, **versions, "items": converted}
        return self._object(data, piece) if _is_ours(data) else data

    def _object(self, data: dict[str, Any], piece: Piece) -> Any:
        self.objects += 1
        where = f"{self.name}:{piece.line}: {_called(data)}"
        if data["kind"] in BY_NAME and data["kind"] not in KINDS:
            return data  # it has one version
        if data["apiVersion"] == self.target.api_version:
            return data
        try:
            done = convert_object(data, self.target)
            home = convert_object(done.object, target(data["apiVersion"])).object if self.verify else data
        except ConversionError as error:
            field = render(error.path)
            self.failures.append(f"{where}: {field}{': ' if field else ''}{error.reason}")
            return data
        if self.verify and not _same(home, data):
            self.failures.append(f"{where}: does not come back from {self.target.version} as it was; this is a bug of ours")
            return data
        self.converted += 1
        self._tell(where, done.object, done.damaged, self.target)
        return done.object

    def _tell(self, where: str, obj: dict[str, Any], damaged: tuple[str, ...], wanted: Target) -> None:
        for key in damaged:
            self.notes.append(f"{where}: the annotation {key} could not be used and is set aside")
        for key, fields in remains(obj):
            what = ", ".join(fields) or "how the object was written"
            self.notes.append(f"{where}: kept in the annotation {key}, to come back from {wanted.version} as it was: {what}")


_DEEPEST_LIST = 5


def _is_ours(data: dict[str, Any]) -> bool:
    version, kind = data.get("apiVersion"), data.get("kind")
    return isinstance(version, str) and isinstance(kind, str) and version.partition("/")[0] == GROUP and kind in BY_NAME


def _called(data: dict[str, Any]) -> str:
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    names = [str(metadata[field])[:253] for field in ("namespace", "name") if metadata.get(field)]
    return f"{data['kind']} {'/'.join(names)}".rstrip()


def _same(home: dict[str, Any], data: dict[str, Any]) -> bool:
    """Deep equality; metadata, which conversion makes present, may have been absent."""
    return home == data or home == {**data, "metadata": data.get("metadata") or {}}
