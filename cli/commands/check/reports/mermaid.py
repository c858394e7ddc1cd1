"""A picture of a graph as a Mermaid flowchart, which GitHub and GitLab draw inside of Markdown."""

from collections.abc import Iterator
from typing import Final

from ..graph_parts import ADDED, REMOVED, RESTARTS, SCALES, Part, Picture

_CLASSES: Final = {
    ADDED: "stroke:#1a7f37,stroke-width:3px",
    REMOVED: "stroke:#cf222e,stroke-width:3px,stroke-dasharray:6",
    RESTARTS: "stroke:#bf8700,stroke-width:3px",
    SCALES: "stroke:#0969da,stroke-width:3px",
}


def mermaid(picture: Picture) -> str:
    """A chart of the graph in a box."""
    changes = {part.change for part in picture.parts if part.change}
    styles = [f"  classDef {change} {style}" for change, style in _CLASSES.items() if change in changes]
    return "\n".join(["flowchart LR", *_graph(picture), *styles, ""])


def _graph(picture: Picture) -> Iterator[str]:
    yield f'  subgraph g0["{_quoted(picture.title)}"]'
    claims = list(dict.fromkeys(claim for part in picture.parts for claim in part.claims))
    for index, part in enumerate(picture.parts):
        mark = f":::{part.change}" if part.change else ""
        yield f'    g0c{index}["{_label(part)}"]{mark}'
    yield from (f'    g0v{index}[("{_quoted(claim)}")]' for index, claim in enumerate(claims))
    yield "  end"
    for start, end, what in picture.flows():
        arrow = f'-- "{what}" -->' if what else "-->"
        yield f"  g0c{start} {arrow} g0c{end}"
    for index, part in enumerate(picture.parts):
        yield from (f"  g0c{index} -.- g0v{claims.index(claim)}" for claim in part.claims)


def _label(part: Part) -> str:
    kind = f" ({part.type})" if part.type and part.type != part.name else ""
    change = f": {part.change}" if part.change else ""
    return "<br/>".join(
        [
            f"<b>{_quoted(part.name)}</b>{_quoted(kind)}{change}",
            part.size,
            *map(_quoted, part.notes),
            *map(_quoted, filter(None, [part.image])),
        ]
    )


def _quoted(text: str) -> str:
    """A text inside of quotes: what might be markup by its number."""
    return "".join(char if char.isalnum() or char in " -_./:,()" else f"#{ord(char)};" for char in text)
