"""The stages of a write, and the rooms with their imports, both read from the code: parts of docs/architecture.md."""

from importlib import import_module
from inspect import isfunction
from itertools import pairwise
from typing import Final

import grimp

from dynamo_webhooks.admission.pipeline import Admission
from tools.manual.markdown import format_table

_PACKAGE: Final = "dynamo_webhooks"
INSIDE: Final = ("cli", "reconciler")  # rooms whose folders are drawn, too
# method of the pipeline -> its effect, the part that refuses, the stage in findings of `check`
STAGES: Final = {
    "decode": ("checks the types of fields", "the webhooks, with 400", "decode"),
    "decode_metadata": ("checks the types of metadata", "the API server, with 400", "decode"),
    "shape": ("sets schema defaults, drops unknown fields and nulls", "the API server, if the request is strict", "decode"),
    "defaults": ("computes the defaults of this project as edits", "", ""),
    "mutate": ("applies them, as the API server applies the webhook's patch", "", ""),
    "conform": ("checks the schema and its CEL rules", "the API server, with 422", "schema, cel"),
    "judge": ("evaluates the rules", "the validating webhook, with 422 and one cause for each finding", "policies"),
}


def list_imports(package: str = _PACKAGE) -> dict[str, set[str]]:
    """The folders of a package that each of its folders imports when it runs; without a package the rooms."""
    graph = grimp.build_graph(_PACKAGE, exclude_type_checking_imports=True, cache_dir=None)
    rooms = [room for room in sorted(graph.find_children(package)) if graph.find_children(room)]
    for room in rooms:
        graph.squash_module(room)
    return {room: graph.find_modules_directly_imported_by(room) & set(rooms) - {room} for room in rooms}


def reduce_edges(edges: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The edges of an acyclic graph that don't follow from others."""

    def reached(start: str) -> set[str]:
        return edges[start].union(*(reached(other) for other in edges[start]))

    return [
        (room, other)
        for room, others in sorted(edges.items())
        for other in sorted(others)
        if not any(other in reached(between) for between in others - {other})
    ]


def draw_pipeline() -> str:
    """The stages, in the order in which the pipeline declares them, as a picture and as a table."""
    names = [name for name, value in vars(Admission).items() if name in STAGES and isfunction(value)]
    drawn = [f"{start} --> {names[0]}" for start in ("request([AdmissionReview])", "file([file])")]
    drawn += [f"{stage} --> {following}" for stage, following in pairwise([*names, "response([response or report])"])]
    rows = ((f"`{name}`", *STAGES[name]) for name in names)
    return _mermaid("flowchart LR", drawn) + "\n" + format_table("method | effect | refused by | stage in findings", rows)


def draw_rooms() -> str:
    """The rooms, and the folders of some of them with the sentence of each."""
    text = _mermaid("flowchart TD", [f"{_short(room)} --> {_short(other)}" for room, other in reduce_edges(list_imports())])
    for room in INSIDE:
        edges = list_imports(f"{_PACKAGE}.{room}")
        rows = ((f"`{_short(folder)}`", str(import_module(folder).__doc__)) for folder in edges)
        drawn = [f"{_short(folder, room)} --> {_short(other, room)}" for folder, other in reduce_edges(edges)]
        text += f"\n### The inside of `{room}`\n\n{_mermaid('flowchart TD', drawn)}\n{format_table('folder | contents', rows)}\n"
    return text


def _short(folder: str, room: str = "") -> str:
    return folder.removeprefix(f"{_PACKAGE}.").removeprefix(f"{room}.").replace(".", "/")


def _mermaid(head: str, lines: list[str]) -> str:
    return "```mermaid\n" + "\n".join([head, *(f"  {line}" for line in lines)]) + "\n```\n"
