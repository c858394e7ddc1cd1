"""The command `override`: a profiler's graph with what a request's `overrides.dgd` says."""

from typing import Annotated, Any, Final, NamedTuple

from ...admission.pipeline import Settings
from ...conversion.lens.protocol import Fields
from ...reconciler.request.graph_override import GRAPH, OverrideError, override_graph, override_of
from ..console import flags
from ..console.exits import NOTHING_FOUND, OK, REFUSED, UNREADABLE, UsageError
from ..console.flags import FactFlags
from ..console.options import argument, switch
from ..console.output import write_document, write_stderr, write_stdout
from ..facts.load import read_facts
from ..files.read import load_text
from ..objects.forms import list_refusals
from ..objects.manifest import find_manifests
from ..rewrite.emit import emit_json
from ..rewrite.rewrite import NotWrittenError, rewrite
from ..rewrite.unified_diff import format_diff
from ..yaml.errors import InputError
from ..yaml.load import Piece, split_documents

_REQUEST: Final = "DynamoGraphDeploymentRequest"
HELP = "merge a partial graph into a graph, as overrides.dgd of a deployment request does"


class Options(NamedTuple):
    """Flags and arguments."""

    blueprint: Annotated[str, argument("file with one graph, or - for standard input; other documents stay as they are", "BLUEPRINT")]
    patch: Annotated[
        str, argument("file with a partial graph, or with the request whose overrides.dgd is one; or - for standard input", "PATCH")
    ]
    output: Annotated[str, flags.output("yaml", "json", "diff")] = "yaml"
    facts: FactFlags = FactFlags()
    quiet: Annotated[bool, switch("don't report parts of the patch without effect", "-q")] = False


class _NothingError(Exception):
    """A file without a match; the message names it."""


class _Blueprint(NamedTuple):
    """A text with one graph, and in which piece that is."""

    pieces: list[Piece]
    graph: Fields
    piece: int


def run(options: Options) -> int:
    """Prints the merged graph; 0, 1 when it can't be merged or would be refused, 3, 4.

    Raises: UsageError for wrong flags or facts, and for files with several graphs.
    """
    if options.blueprint == options.patch == "-":
        raise UsageError("only one of BLUEPRINT and PATCH can be standard input")
    settings, name = Settings(read_facts(options.facts)), options.blueprint
    try:
        blueprint, (patch, begin) = _load_blueprint(name), _load_patch(options.patch)
    except (InputError, _NothingError) as error:
        write_stderr(str(error))
        return UNREADABLE if isinstance(error, InputError) else NOTHING_FOUND
    try:
        done = override_graph(blueprint.graph, patch, settings.line)
        text = _written(blueprint, done.graph)
    except (OverrideError, NotWrittenError) as error:
        write_stderr(f"{begin if isinstance(error, OverrideError) else f'{name}: '}{error}")
        return REFUSED
    refusals = list(list_refusals(done.graph, str(done.graph["apiVersion"]).rpartition("/")[2], settings))
    for one in refusals:
        write_stderr(f"{name}: the merged graph would be refused: {one.text}{f' [{one.code}]' if one.code else ''}")
    for warning in () if options.quiet else done.warnings:
        write_stderr(f"{begin}{warning}")
    if options.output == "json":
        write_stdout(emit_json(done.graph))
    else:
        before = "".join(piece.text for piece in blueprint.pieces)
        write_document(format_diff(name, before, text) if options.output == "diff" else text)
    return REFUSED if refusals else OK


def _load_blueprint(name: str) -> _Blueprint:
    """Reads the text with the graph. Raises: InputError, _NothingError, UsageError if it has several."""
    pieces = _read(name)
    found = [
        _Blueprint(pieces, one.data, number)
        for number, piece in enumerate(pieces)
        for one in find_manifests(piece.documents)
        if one.identity.kind == GRAPH
    ]
    if not found:
        raise _NothingError(f"{name}: must hold one {GRAPH}, found none")
    if len(found) > 1:
        raise UsageError(f"{name}: must hold one {GRAPH}, found {len(found)}; name a file for each")
    return found[0]


def _load_patch(name: str) -> tuple[Fields, str]:
    """The partial graph, the only object of a file or of its request, and how sentences about it begin.

    Raises: InputError, _NothingError, UsageError.
    """
    objects = [one.data for one in find_manifests(document for piece in _read(name) for document in piece.documents)]
    found = [(one, f"{name}: ") for one in objects if one.get("kind") == GRAPH]
    asked = [override_of(one) for one in objects if one.get("kind") == _REQUEST]
    found += [(one, f"{name}: spec.overrides.dgd: ") for one in asked if one is not None]
    if not found:
        raise _NothingError(f"{name}: must hold a {GRAPH}, or a {_REQUEST} of v1beta1 with overrides.dgd, found none")
    if len(found) > 1:
        raise UsageError(f"{name}: must hold one partial graph, found {len(found)}; name a file for each")
    return found[0]


def _read(name: str) -> list[Piece]:
    """The pieces of a text. Raises: InputError if one can't be read."""
    pieces = list(split_documents(name, load_text(name)))
    for error in (error for piece in pieces for error in piece.errors):
        raise error
    return pieces


def _written(blueprint: _Blueprint, graph: Fields) -> str:
    """The text with another graph, which keeps everything else. Raises: NotWrittenError."""
    texts = [piece.text for piece in blueprint.pieces]
    if graph is not blueprint.graph:
        piece = blueprint.pieces[blueprint.piece]
        texts[blueprint.piece] = rewrite(piece.text, [_placed(one.data, blueprint.graph, graph) for one in piece.documents]).text
    return "".join(texts)


def _placed(value: Any, old: Fields, new: Fields) -> Any:
    """A document with the new graph instead of the old one, which may be an item of a list."""
    if value is old:
        return new
    items = value.get("items") if isinstance(value, dict) else None
    return {**value, "items": [_placed(one, old, new) for one in items]} if isinstance(items, list) else value
