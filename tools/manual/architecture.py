"""Writes docs/architecture.md: the stages of a write and the rooms with their imports, both read from the code."""

from __future__ import annotations

from inspect import isfunction
from itertools import pairwise
from typing import Final

import grimp

from dynamo_webhooks.admission.pipeline import Admission

_PACKAGE: Final = "dynamo_webhooks"
# method of the pipeline -> what it does, who refuses, the stage that findings of `check` name
STAGES: Final = {
    "decode": ("checks the types of fields", "the webhooks, with 400", "decode"),
    "decode_metadata": ("checks the types of metadata", "the API server, with 400", "decode"),
    "shape": ("sets schema defaults, drops unknown fields and nulls", "the API server, if the request is strict", "decode"),
    "defaults": ("computes the defaults of this project as edits", "", ""),
    "mutate": ("applies them, as the API server applies the webhook's patch", "", ""),
    "conform": ("checks the schema and its CEL rules", "the API server, with 422", "schema, cel"),
    "judge": ("evaluates the rules", "the validating webhook, with 422 and one cause for each finding", "policies"),
}
_HEAD: Final = """\
<!-- written by `make docs` (tools/pages.py) from admission/pipeline.py and the imports of the rooms; edit those, not this file -->

# Architecture

This page shows how a request is processed, and which room imports which. [CONTRIBUTING](../CONTRIBUTING.md#the-path-of-a-request) follows
one request through the functions.

## The pipeline

A request to the server and a file given to `check` pass the same stages: the methods of `Admission` in `admission/pipeline.py`. An API
server stops at the first stage that refuses; `check` continues. The API server then converts the object to the stored version by `/convert`
(`conversion/objects.py`), which fails only for an object that the other version can't represent.

"""
_ROOMS: Final = """
## The rooms

An arrow means "imports"; indirect imports are left out. `make contracts` enforces the direction, and that `policies`, `conversion`,
`admission` and `reconciler/render` are pure.

"""


def stages() -> list[str]:
    """The stages in the order in which the pipeline declares them."""
    return [name for name, value in vars(Admission).items() if name in STAGES and isfunction(value)]


def imports() -> dict[str, set[str]]:
    """The rooms that each room imports when it runs."""
    graph = grimp.build_graph(_PACKAGE, exclude_type_checking_imports=True, cache_dir=None)
    rooms = [room for room in sorted(graph.find_children(_PACKAGE)) if graph.find_children(room)]
    for room in rooms:
        graph.squash_module(room)
    return {room: {other for other in graph.find_modules_directly_imported_by(room) if other in rooms} for room in rooms}


def reduced(edges: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The edges of an acyclic graph that don't follow from others."""

    def reached(start: str) -> set[str]:
        return edges[start].union(*(reached(other) for other in edges[start]))

    return [
        (room, other)
        for room, others in sorted(edges.items())
        for other in sorted(others)
        if not any(other in reached(between) for between in others - {other})
    ]


def architecture_page() -> str:
    """The whole page."""
    names = stages()
    drawn = ["request([AdmissionReview]) --> " + names[0], "file([file]) --> " + names[0]]
    drawn += [f"{one} --> {two}" for one, two in pairwise(names)]
    drawn += [f"{names[-1]} --> response([response or report])"]
    rows = [f"| `{name}` | {' | '.join(STAGES[name])} |" for name in names]
    edges = [f"{_short(room)} --> {_short(other)}" for room, other in reduced(imports())]
    return (
        _HEAD
        + _mermaid("flowchart LR", drawn)
        + "\n| method | what it does | who refuses | stage in findings |\n| --- | --- | --- | --- |\n"
        + "\n".join(rows)
        + "\n"
        + _ROOMS
        + _mermaid("flowchart TD", edges)
    )


def _short(room: str) -> str:
    return room.removeprefix(f"{_PACKAGE}.")


def _mermaid(head: str, lines: list[str]) -> str:
    return "```mermaid\n" + "\n".join([head, *(f"  {line}" for line in lines)]) + "\n```\n"
