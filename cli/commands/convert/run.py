"""Converts the objects of one file, but none that `check` would refuse in the other version and did not refuse before."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from ....api.kinds import BY_NAME, GROUP, api_version
from ....api.line import Line
from ....api.paths import Path, format_path
from ....conversion.kinds import KINDS
from ....conversion.lens.protocol import ConversionError
from ....conversion.objects import Target, convert_object, target
from ....conversion.remainder import annotation_keys
from ....policies.catalogue import find_rule
from ....policies.facts import Facts
from ....policies.review import CREATE, Fields
from ...files.read import STDIN
from ...legacy.modernise import modernise
from ...legacy.recognise import recognise
from ...objects.forms import apply_schema_defaults
from ...objects.manifest import find_manifests
from ...objects.text_edits import ObjectOrigins
from ...rewrite.align import Origin
from ...rewrite.rewrite import NotWrittenError, rewrite
from ...validation.finding import LocatedFinding
from ...validation.levels import ERROR
from ...validation.pipeline import ValidationSettings, check_object
from ...yaml.errors import ForeignInputError
from ...yaml.load import Document, InputError, Piece, Source, read_text, split_documents
from .fields import chain_origins, describe_remainder, trace_converted, trace_modernised
from .served import add_checkpoint_switches, convert_as_served, find_adapters_off, leave_out_marks, leave_out_types

_MAX_LIST_LEVELS: Final = 5
_MAX_NAMED_COMMENTS: Final = 5


class ConvertedText:
    """A file on its way, and after its conversion."""

    def __init__(
        self, name: str, wanted: Target, verify: bool, builds: Callable[[], list[Any]], leaving: frozenset[str], *, foreign: bool
    ) -> None:
        self.name = name
        self.leaving = leaving
        self.foreign = foreign
        self.builds = builds
        self.target = wanted
        self.verify = verify
        self.text = ""
        self.values: list[Any] = []  # all documents
        self.objects = self.converted = 0  # of our kinds, and those of them that are in another version now
        self.notes: list[str] = []  # what went into the remainder, and other things to know
        self.legacy: list[str] = []  # what became of documents of the first releases, and what a person must decide
        self.failures: list[str] = []
        self.unreadable: list[InputError] = []
        self.others: list[Any] = []  # all documents as they were

    def convert(self, text: str) -> None:
        """Converts the text of the file."""
        pieces = list(split_documents(self.name, text))
        self.others = [document.data for piece in pieces for document in piece.documents]
        parts: list[str] = []
        for piece in pieces:
            if self.foreign:
                self.notes += [str(ForeignInputError.of(error)) for error in piece.errors]
            else:
                self.unreadable += piece.errors
            made, after = self._piece(piece)
            parts.append(made)
            self.values += after
        self.text = "".join(parts)

    def _piece(self, piece: Piece) -> tuple[str, list[Any]]:
        before = [document.data for document in piece.documents]
        if piece.errors:
            return piece.text, before  # what can't be read as a whole could not be written as a whole
        moves = ObjectOrigins()
        after = [_Document(self, piece, index, moves).value(data, ()) for index, data in enumerate(before)]
        if all(new is old for new, old in zip(after, before, strict=True)):
            return piece.text, before
        try:
            done = rewrite(piece.text, after, moves.origin)
        except NotWrittenError as error:
            self.failures.append(f"{self.name}:{piece.line}: {error}")
            return piece.text, before
        for comment in done.lost_comments[:_MAX_NAMED_COMMENTS]:  # of fields that are no more, or that stood in an odd place
            self.notes.append(f'{self.name}:{piece.line - 1 + comment.line}: the comment "{comment.text[:80]}" could not be kept')
        if (more := len(done.lost_comments) - _MAX_NAMED_COMMENTS) > 0:
            self.notes.append(f"{self.name}: {more} more comments could not be kept")
        return done.text, after


def convert_text(
    name: str,
    text: str,
    version: str,
    *,
    verify: bool,
    line: Line,
    builds: Callable[[], list[Any]] = list,
    lenient: bool = False,
    leaving: frozenset[str] = frozenset(),
) -> ConvertedText:
    """Converts every object of a converting kind in a text, but those `leaving`, as JSON; all else stays byte for byte.

    `builds` gives documents of other files that may know the images of legacy ones; it is asked only where there is one.
    """
    foreign = lenient and GROUP not in text and name != STDIN
    outcome = ConvertedText(name, target(api_version(version), line), verify, builds, leaving, foreign=foreign)
    outcome.convert(text)
    return outcome


class _Document:
    """One document: its object, or the objects of a list."""

    def __init__(self, file: ConvertedText, piece: Piece, index: int, moves: ObjectOrigins) -> None:
        self.file = file
        self.piece = piece
        self.document = piece.documents[index]
        self.index = index
        self.moves = moves

    def value(self, data: Any, path: Path) -> Any:
        """The value at a path of the document converted, or the very same value where nothing is to be done."""
        if not isinstance(data, dict):
            return data
        items, kind = data.get("items"), data.get("kind")
        if isinstance(items, list) and isinstance(kind, str) and kind.endswith("List") and len(path) < 2 * _MAX_LIST_LEVELS:
            converted = [self.value(item, (*path, "items", index)) for index, item in enumerate(items)]
            if all(new is old for new, old in zip(converted, items, strict=True)):
                return data
            versions = {"apiVersion": self.file.target.api_version} if kind.removesuffix("List") in KINDS else {}
            return {**data, **versions, "items": converted}
        if recognise(data) is not None:
            return self._modernised(data, path)
        return self._object(data, path) if _is_ours(data) else data

    def _modernised(self, data: dict[str, Any], path: Path) -> Any:
        """Today's object for one of the first releases; one that became none stays as it is."""
        self.file.objects += 1
        try:
            done = modernise(data, [*self.file.others, *self.file.builds()])
        except ConversionError as error:
            return self._refused(data, path, error)
        first, *more = done.lines()
        self.file.legacy += [f"{self._line(path)}: {first}", *more]
        made = done.object
        if made is None:
            return data
        origin = trace_modernised(done.notes)
        new = made if made["apiVersion"] == self.file.target.api_version else self._converted(made, path, origin)
        if new is made:
            if made["apiVersion"] != self.file.target.api_version:
                return data  # the failed conversion has been reported
            self.file.converted += 1
            self.moves.add(self.index, path, origin)
        return new

    def _object(self, data: dict[str, Any], path: Path) -> Any:
        self.file.objects += 1
        one_version = data["kind"] in BY_NAME and data["kind"] not in KINDS
        if one_version or (self.file.leaving and json.dumps(data) in self.file.leaving):
            return data
        return self._switched(data, path) if data["apiVersion"] == self.file.target.api_version else self._converted(data, path, None)

    def _switched(self, data: dict[str, Any], path: Path) -> Any:
        """The object with the switches that are required since line 1.5, or the very same one where none is missing."""
        new, places = add_checkpoint_switches(data, self.file.target)
        for place in places:
            text = "enabled: true is added: it is required since operator 1.5, and for operator 1.2 the block alone means it"
            self.file.notes.append(f"{self._line(path)}: {_called(data)}: {format_path(place)}: {text}")
        if places:
            self.file.converted += 1
            self.moves.add(self.index, path, lambda field: field)
        return new

    def _converted(self, data: dict[str, Any], path: Path, before: Origin | None) -> Any:
        """An object converted, or the very same one where that can't be done."""
        wanted, where, whole = self.file.target, f"{self._line(path)}: {_called(data)}", data
        data, lacking = leave_out_types(whole, wanted)
        try:
            done = convert_as_served(data, wanted)
            back = target(data["apiVersion"], wanted.line)
            home = convert_object(done.object, back, whole=True).object if self.file.verify else data
        except ConversionError as error:
            return self._refused(whole, path, error)
        if self.file.verify and lacking:
            lost = "does not round-trip: {} has no type {}, and would lose it"
            sentences = (f"{format_path(place)}: {lost.format(wanted.version, json.dumps(kind))}" for place, kind in lacking)
            self.file.failures += [f"{where}: {sentence}" for sentence in sentences]
            return whole
        if self.file.verify and not _same(leave_out_marks(home), leave_out_marks(data), wanted.line):
            self.file.failures.append(f"{where}: does not round-trip through {wanted.version}; this is an internal error")
            return whole
        new = done.object
        if "metadata" not in data and not new.get("metadata"):
            new = {key: value for key, value in new.items() if key != "metadata"}  # which conversion makes present
        origin = trace_converted(KINDS[data["kind"]], data, new)
        self.moves.add(self.index, path, chain_origins(origin, before) if before else origin)
        self.file.converted += 1
        self._tell(where, new, done.damaged)
        for place in find_adapters_off(data, wanted):
            off = f"is off without enabled: true, and left out, since {wanted.version} has the block only where it is on"
            self.file.notes.append(f"{where}: {format_path(place)}: {off}")
        for place, kind in lacking:
            self.file.notes.append(f"{where}: {format_path(place)}: left out, since {wanted.version} has no type {json.dumps(kind)}")
        return new

    def _refused(self, data: dict[str, Any], path: Path, error: ConversionError) -> dict[str, Any]:
        field = f"{format_path(error.path)}: " if error.path else ""
        self.file.failures.append(f"{self._line(path)}: {_called(data)}: {field}{error.reason}")
        return data

    def _tell(self, where: str, obj: dict[str, Any], damaged: tuple[str, ...]) -> None:
        for key in damaged:
            self.file.notes.append(f"{where}: the annotation {key} could not be used and is set aside")
        for key, fields in describe_remainder(obj):
            what = ", ".join(fields) or "how the object was written"
            back = f"restored when converted back from {self.file.target.version}"
            self.file.notes.append(f"{where}: kept in the annotation {key}, {back}: {what}")

    def _line(self, path: Path) -> str:
        """The position of an object: of a document its first field, of a list item its dash."""
        line = self.piece.line - 1 + self.document.position(path).line if path else self.piece.line
        return f"{self.file.name}:{line}"


def _is_ours(data: dict[str, Any]) -> bool:
    version, kind = data.get("apiVersion"), data.get("kind")
    return isinstance(version, str) and isinstance(kind, str) and version.partition("/")[0] == GROUP and kind in BY_NAME


def _called(data: dict[str, Any]) -> str:
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    names = [str(metadata[field])[:253] for field in ("namespace", "name") if metadata.get(field)]
    return f"{data['kind']} {'/'.join(names)}".rstrip()


def _same(home: dict[str, Any], data: dict[str, Any], line: Line) -> bool:
    """Deep equality, schema defaults apart; metadata, which conversion makes present, may have been absent."""
    known = {**data, "metadata": data.get("metadata") or {}}
    return home in (data, known) or apply_schema_defaults(home, line) == apply_schema_defaults(known, line)


def convert_accepted(name: str, text: str, version: str, *, line: Line, **how: Any) -> tuple[ConvertedText, list[str]]:
    """A text as `convert_text` converts it, and a sentence for each error that an object would have in the other version alone.

    Such an object stays as it is. One of the first releases doesn't, whose author has decisions to make.
    """
    done = convert_text(name, text, version, line=line, **how)
    refused = _newly_refused(name, text, done.text, line) if done.converted else []
    if not refused:
        return done, []
    kept = convert_text(name, text, version, line=line, leaving=frozenset(written for written, _ in refused), **how)
    stays = "it stays as it is, because " if kept.text != done.text else ""
    sentences = [
        f"{finding.identity}: {stays}check refuses the converted object: {finding.about} ({finding.rule})" for _, finding in refused
    ]
    return kept, [f"{name}: {sentence}" for sentence in sentences]


def _newly_refused(name: str, before: str, after: str, line: Line) -> list[tuple[str, LocatedFinding]]:
    """The new errors of a converted text, each with the object as it was written.

    What only v1alpha1 can say comes back from the annotations of an object as its author said it there: errors of that aren't new.
    Conversion keeps the order of objects, so that the number of an object finds it again.
    """
    objects: list[str] = []
    known = {(number, finding.rule) for number, finding in _errors(name, before, line, objects)}
    errors = ((objects[number], finding) for number, finding in _errors(name, after, line, []) if (number, finding.rule) not in known)
    return [(obj, finding) for obj, finding in errors if not (_is_of_v1alpha1(finding.rule) and _remembers_author(json.loads(obj)))]


def _remembers_author(obj: Fields) -> bool:
    """Whether an object has annotations in which conversion keeps what its author said in the other version."""
    kind = KINDS.get(str(obj.get("kind")))
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return kind is not None and any(key in annotations for key in annotation_keys(kind))


def _is_of_v1alpha1(rule: str) -> bool:
    declared = find_rule(rule)
    return declared is not None and declared.module.startswith("dynamo_webhooks.policies.v1alpha1.")


def _errors(name: str, text: str, line: Line, objects: list[str]) -> Iterator[tuple[int, LocatedFinding]]:
    """The errors of a text with the numbers of their objects, which are added as they were written."""
    settings = ValidationSettings(Facts(operatorLine=line))
    documents = (document for document in read_text(Source(name, text)) if isinstance(document, Document))
    for number, manifest in enumerate(find_manifests(documents)):
        objects.append(json.dumps(manifest.data))
        for finding in check_object(manifest, CREATE, None, settings).findings:
            if finding.level == ERROR:
                yield number, finding
