"""The command `override`: a profiler's graph with what a request's `overrides.dgd` says."""

import argparse
from typing import Any, Final, NamedTuple

from ...admission.pipeline import Settings
from ...conversion.lens.protocol import Fields
from ...reconciler.request.graph_override import GRAPH, OverrideError, override_graph, override_of
from ..console import flags
from ..console.exits import NOTHING_FOUND, OK, REFUSED, UNREADABLE, UsageError
from ..console.output import write_document, write_stderr, write_stdout
from ..facts.load import read_fact_flags
from ..files.read import load_text
from ..objects.forms import list_refusals
from ..objects.manifest import find_manifests
from ..rewrite.emit import emit_json
from ..rewrite.rewrite import NotWrittenError, rewrite
from ..rewrite.unified_diff import format_diff
from ..yaml.errors import InputError
from ..yaml.load import Piece, split_documents

_REQUEST: Final = "DynamoGraphDeploymentRequest"
HELP = "lay a partial graph over a whole one, as overrides.dgd of a deployment request does"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "blueprint", metavar="BLUEPRINT", help="file with one graph, or - for standard input; other documents stay as they are"
    )
    parser.add_argument(
        "patch", metavar="PATCH", help="file with a partial graph, or with the request whose overrides.dgd is one; or - for standard input"
    )
    parser.add_argument("-o", "--output", choices=("yaml", "json", "diff"), default="yaml", help="format (default %(default)s)")
    flags.facts(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="don't report what of the patch has no effect")
    flags.verbose(parser)


class _NothingError(Exception):
    """A file without a match; the message names it."""


class _Blueprint(NamedTuple):
    """A text with one graph, and in which piece that is."""

    name: str
    pieces: list[Piece]
    graph: Fields
    piece: int


class _Patch(NamedTuple):
    """A partial graph, and what sentences about it begin with."""

    graph: Fields
    begin: str


class _Merged(NamedTuple):
    """The result: `problems` are why there is none, or why it would be refused."""

    graph: Fields | None
    text: str
    problems: list[str]
    warnings: list[str]


def run(arguments: argparse.Namespace) -> int:
    """Prints the merged graph; 0, 1 when it can't be merged or would be refused, 3, 4.

    Raises: UsageError for wrong flags or facts, and for files with several graphs.
    """
    if arguments.blueprint == arguments.patch == "-":
        raise UsageError("only one of BLUEPRINT and PATCH can be standard input")
    settings = Settings(read_fact_flags(arguments))
    try:
        blueprint, patch = _load_blueprint(arguments.blueprint), _load_patch(arguments.patch)
    except (InputError, _NothingError) as error:
        write_stderr(str(error))
        return UNREADABLE if isinstance(error, InputError) else NOTHING_FOUND
    done = _override(blueprint, patch, settings)
    for line in (*done.problems, *(() if arguments.quiet else done.warnings)):
        write_stderr(line)
    if done.graph is not None and arguments.output == "json":
        write_stdout(emit_json(done.graph))
    elif done.graph is not None:
        before = "".join(piece.text for piece in blueprint.pieces)
        write_document(format_diff(blueprint.name, before, done.text) if arguments.output == "diff" else done.text)
    return REFUSED if done.problems else OK


def _load_blueprint(name: str) -> _Blueprint:
    """Reads the text with the graph. Raises: InputError, _NothingError, UsageError if it has several."""
    pieces = _read(name)
    found = [
        _Blueprint(name, pieces, one.data, number)
        for number, piece in enumerate(pieces)
        for one in find_manifests(piece.documents)
        if one.identity.kind == GRAPH
    ]
    if not found:
        raise _NothingError(f"{name}: must hold one {GRAPH}, found none")
    if len(found) > 1:
        raise UsageError(f"{name}: must hold one {GRAPH}, found {len(found)}; name a file for each")
    return found[0]


def _load_patch(name: str) -> _Patch:
    """Reads the partial graph: the only object of a file, or of its request. Raises: InputError, _NothingError, UsageError."""
    objects = [one.data for one in find_manifests(document for piece in _read(name) for document in piece.documents)]
    found = [_Patch(one, f"{name}: ") for one in objects if one.get("kind") == GRAPH]
    asked = [override_of(one) for one in objects if one.get("kind") == _REQUEST]
    found += [_Patch(one, f"{name}: spec.overrides.dgd: ") for one in asked if one is not None]
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


def _override(blueprint: _Blueprint, patch: _Patch, settings: Settings) -> _Merged:
    """The blueprint with the patch, as a text that keeps everything else."""
    try:
        done = override_graph(blueprint.graph, patch.graph, settings.line)
    except OverrideError as error:
        return _Merged(None, "", [f"{patch.begin}{error}"], [])
    warnings = [f"{patch.begin}{one}" for one in done.warnings]
    texts = [piece.text for piece in blueprint.pieces]
    if done.graph is not blueprint.graph:
        piece = blueprint.pieces[blueprint.piece]
        try:
            texts[blueprint.piece] = rewrite(piece.text, [_placed(one.data, blueprint.graph, done.graph) for one in piece.documents]).text
        except NotWrittenError as error:
            return _Merged(None, "", [f"{blueprint.name}: {error}"], warnings)
    refusals = list_refusals(done.graph, str(done.graph["apiVersion"]).rpartition("/")[2], settings)
    reasons = [f"{one.text} [{one.code}]" if one.code else one.text for one in refusals]
    problems = [f"{blueprint.name}: the merged graph would be refused: {one}" for one in reasons]
    return _Merged(done.graph, "".join(texts), problems, warnings)


def _placed(value: Any, old: Fields, new: Fields) -> Any:
    """A document with the new graph instead of the old one, which may be an item of a list."""
    if value is old:
        return new
    items = value.get("items") if isinstance(value, dict) else None
    return {**value, "items": [_placed(one, old, new) for one in items]} if isinstance(items, list) else value
