"""Merges one graph of a text with a partial one, and says why admission would refuse the result. Printing is the command's."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ....admission.pipeline import Settings
from ....conversion.lens.protocol import Fields
from ....policies.facts import Facts
from ....reconciler.request.graph_override import GRAPH, OverrideError, override_graph, override_of
from ...console.exits import UsageError
from ...files.read import load_text
from ...objects.forms import list_refusals
from ...objects.manifest import find_manifests
from ...rewrite.rewrite import NotWrittenError, rewrite
from ...yaml.load import Document, Piece, split_documents

_REQUEST: Final = "DynamoGraphDeploymentRequest"


class NothingError(Exception):
    """A file without a match; the message names it."""


class Blueprint(NamedTuple):
    """A text with one graph, and where that is."""

    name: str
    pieces: list[Piece]
    graph: Fields
    piece: int

    @property
    def text(self) -> str:
        """The text as it was read."""
        return "".join(piece.text for piece in self.pieces)


class Patch(NamedTuple):
    """A partial graph, and what sentences about it begin with."""

    graph: Fields
    begin: str


class Merged(NamedTuple):
    """The result: `problems` are why there is none, or why it would be refused."""

    graph: Fields | None
    text: str
    problems: list[str]
    warnings: list[str]


def load_blueprint(name: str) -> Blueprint:
    """Reads the text with the graph. Raises: InputError, NothingError, UsageError if it has several."""
    pieces = list(split_documents(name, load_text(name)))
    found = list(_graphs(name, pieces))
    if not found:
        raise NothingError(f"{name}: must hold one {GRAPH}, found none")
    if len(found) > 1:
        raise UsageError(f"{name}: must hold one {GRAPH}, found {len(found)}; name a file for each")
    return found[0]


def _graphs(name: str, pieces: list[Piece]) -> Iterator[Blueprint]:
    for number, piece in enumerate(pieces):
        for error in piece.errors:
            raise error
        found = (one.data for one in find_manifests(piece.documents) if one.identity.kind == GRAPH)
        yield from (Blueprint(name, pieces, graph, number) for graph in found)


def load_patch(name: str) -> Patch:
    """Reads the partial graph: the only object of a file, or of its request. Raises: InputError, NothingError, UsageError."""
    documents: list[Document] = []
    for piece in split_documents(name, load_text(name)):
        for error in piece.errors:
            raise error
        documents += piece.documents
    objects = [one.data for one in find_manifests(documents)]
    found = [Patch(one, f"{name}: ") for one in objects if one.get("kind") == GRAPH]
    asked = [override_of(one) for one in objects if one.get("kind") == _REQUEST]
    found += [Patch(one, f"{name}: spec.overrides.dgd: ") for one in asked if one is not None]
    if not found:
        raise NothingError(f"{name}: must hold a {GRAPH}, or a {_REQUEST} of v1beta1 with overrides.dgd, found none")
    if len(found) > 1:
        raise UsageError(f"{name}: must hold one partial graph, found {len(found)}; name a file for each")
    return found[0]


def override(blueprint: Blueprint, patch: Patch, facts: Facts) -> Merged:
    """The blueprint with the patch, as a text that keeps everything else."""
    settings = Settings(facts)
    try:
        done = override_graph(blueprint.graph, patch.graph, settings.line)
    except OverrideError as error:
        return Merged(None, "", [f"{patch.begin}{error}"], [])
    warnings = [f"{patch.begin}{one}" for one in done.warnings]
    try:
        text = _written(blueprint, done.graph)
    except NotWrittenError as error:
        return Merged(None, "", [f"{blueprint.name}: {error}"], warnings)
    refusals = list_refusals(done.graph, str(done.graph["apiVersion"]).rpartition("/")[2], settings)
    reasons = [f"{one.text} [{one.code}]" if one.code else one.text for one in refusals]
    problems = [f"{blueprint.name}: the merged graph would be refused: {one}" for one in reasons]
    return Merged(done.graph, text, problems, warnings)


def _written(blueprint: Blueprint, graph: Fields) -> str:
    if graph is blueprint.graph:
        return blueprint.text
    piece = blueprint.pieces[blueprint.piece]
    texts = [one.text for one in blueprint.pieces]
    texts[blueprint.piece] = rewrite(piece.text, [_placed(document.data, blueprint.graph, graph) for document in piece.documents]).text
    return "".join(texts)


def _placed(value: Any, old: Fields, new: Fields) -> Any:
    """A document with the new graph instead of the old one, which may be an item of a list."""
    if value is old:
        return new
    items = value.get("items") if isinstance(value, dict) else None
    return {**value, "items": [_placed(one, old, new) for one in items]} if isinstance(items, list) else value
