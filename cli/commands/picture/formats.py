"""A picture as a Mermaid flowchart, which GitHub and GitLab draw inside of Markdown, or as SVG in the colours of the reader's theme."""

from collections.abc import Iterator
from html import escape  # that of xml.sax would import urllib and sockets
from typing import Final, NamedTuple

from ....api.wording import count_of, shorten
from .parts import ADDED, ENTRY, REMOVED, RESTARTS, SCALES, Part, Picture, shorten_image

_CLASSES: Final = {
    ADDED: "stroke:#1a7f37,stroke-width:3px",
    REMOVED: "stroke:#cf222e,stroke-width:3px,stroke-dasharray:6",
    RESTARTS: "stroke:#bf8700,stroke-width:3px",
    SCALES: "stroke:#0969da,stroke-width:3px",
}


def mermaid(pictures: list[Picture]) -> str:
    """One chart of all pictures, a box each."""
    lines = ["flowchart LR"]
    for number, picture in enumerate(pictures):
        lines += _graph(number, picture)
    changes = {part.change for picture in pictures for part in picture.parts if part.change}
    lines += [f"  classDef {change} {style}" for change, style in _CLASSES.items() if change in changes]
    return "\n".join(lines) + "\n"


def _graph(number: int, picture: Picture) -> Iterator[str]:
    yield f'  subgraph g{number}["{_quoted(picture.title)}"]'
    claims = list(dict.fromkeys(claim for part in picture.parts for claim in part.claims))
    for index, part in enumerate(picture.parts):
        mark = f":::{part.change}" if part.change else ""
        yield f'    g{number}c{index}["{_label(part)}"]{mark}'
    yield from (f'    g{number}v{index}[("{_quoted(claim)}")]' for index, claim in enumerate(claims))
    yield "  end"
    for start, end, what in picture.flows():
        arrow = f'-- "{what}" -->' if what else "-->"
        yield f"  g{number}c{start} {arrow} g{number}c{end}"
    for index, part in enumerate(picture.parts):
        yield from (f"  g{number}c{index} -.- g{number}v{claims.index(claim)}" for claim in part.claims)


def _label(part: Part) -> str:
    kind = f" ({part.type})" if part.type and part.type != part.name else ""
    change = f": {part.change}" if part.change else ""
    notes = [note for note in part.notes if not note.startswith("claim ")]
    return "<br/>".join(
        [f"<b>{_quoted(part.name)}</b>{_quoted(kind)}{change}", part.size, *map(_quoted, notes), *map(_quoted, filter(None, [part.image]))]
    )


def _quoted(text: str) -> str:
    """A text inside of quotes: what might be markup by its number."""
    return "".join(one if one.isalnum() or one in " -_./:,()" else f"#{ord(one)};" for one in text)


# colour -> by day, by night
_COLOURS: Final = {
    "ink": ("#1f2328", "#f0f6fc"),
    "dim": ("#59636e", "#9198a1"),
    "page": ("#fff", "#0d1117"),
    "card": ("#f6f8fa", "#151b23"),
    "line": ("#d1d9e0", "#3d444d"),
    "gpu": ("#76b900", "#76b900"),
    ADDED: ("#1a7f37", "#3fb950"),
    REMOVED: ("#cf222e", "#f85149"),
    RESTARTS: ("#9a6700", "#d29922"),
    SCALES: ("#0969da", "#4493f8"),
}
# class of an element -> its fill and stroke (a colour, or none), and what else its look is
_LOOKS: Final = {
    "page": ("page", "", {}),
    "pod": ("none", "dim", {}),
    "gpu": ("gpu", "", {}),
    "standby": ("none", "gpu", {"stroke-dasharray": "2"}),
    "flow": ("none", "line", {"stroke-width": "1.5"}),
    "name": ("ink", "", {"font-weight": "600"}),
    "dim": ("dim", "", {"font-size": "12"}),
    "card": ("card", "line", {}),
    **{f"card-{one}": ("card", one, {"stroke-width": "3"}) for one in (ADDED, RESTARTS, SCALES)},
    f"card-{REMOVED}": ("card", REMOVED, {"stroke-width": "3", "stroke-dasharray": "6"}),
    **{one: (one, "", {}) for one in (ADDED, REMOVED, RESTARTS, SCALES)},
}


def _paint(look: str, night: int) -> dict[str, str]:
    fill, stroke, _ = _LOOKS[look]
    return {name: _COLOURS[one][night] if one in _COLOURS else one for name, one in (("fill", fill), ("stroke", stroke)) if one}


# as attributes, by which viewers draw that know neither variables nor media queries; a style has the last word where it is read
_ATTRIBUTES: Final = {
    look: " ".join([f'class="{look}"', *(f'{name}="{value}"' for name, value in (_paint(look, 0) | more).items())])
    for look, (_, _, more) in _LOOKS.items()
}
_NIGHT: Final = "".join(f".{look}{{{';'.join(f'{name}:{value}' for name, value in _paint(look, 1).items())}}}" for look in _LOOKS)
WIDTH: Final = 300  # of a card
_GAP: Final = 60  # between columns
_BETWEEN: Final = 18  # two cards of a column
_EDGE: Final = 20
_HEAD: Final = 46  # of a card: its name, and its size
_LINE: Final = 18  # height of one line of text
_POD: Final = 22  # height of one row of pods
_ROWS: Final = 4  # replicas that are drawn
_NODES: Final = 4  # pods of one replica that are drawn
_GPUS: Final = 8  # of one pod that are drawn
_TITLE: Final = 44
_SHORT: Final = 36  # characters of a line of a card, which holds so many digits in a wide font


class _Card(NamedTuple):
    part: Part
    x: int
    y: int


def svg(pictures: list[Picture]) -> str:
    """All pictures below one another, in one document: entries on the left, workers in the middle, all others on the right."""
    bodies, y, width = [], 0, 0
    for picture in pictures:
        lines, wide, high = _picture(picture, y)
        bodies += lines
        y, width = y + high, max(width, wide)
    title = escape("; ".join(picture.title for picture in pictures[:3]))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" height="{y}" role="img"'
    font = 'font-family="system-ui,sans-serif" font-size="13"'
    paper = f'<rect {_ATTRIBUTES["page"]} width="{width}" height="{y}"/>'
    style = f"<style>@media(prefers-color-scheme:dark){{{_NIGHT}}}</style>"
    return "\n".join([f'{head} {font} aria-label="{title}">', style, paper, *bodies, "</svg>", ""])


def height(part: Part) -> int:
    """The height of a component's card."""
    rows = min(part.replicas, _ROWS) + (part.replicas > _ROWS)
    return _HEAD + rows * _POD + len(_lines(part)) * _LINE + 12


def _lines(part: Part) -> list[str]:
    """What a card says below its pods: its notes, and the image with the whole of its tag, on as many lines as that takes."""
    image = shorten_image(part.image, _SHORT)
    return [*(shorten(note, _SHORT) for note in part.notes), *(image[at : at + _SHORT] for at in range(0, len(image), _SHORT))]


def _picture(picture: Picture, top: int) -> tuple[list[str], int, int]:
    columns: tuple[list[Part], ...] = ([], [], [])
    for part in picture.parts:
        columns[0 if part.type in ENTRY else 1 if part.is_worker else 2].append(part)
    cards: dict[Part, _Card] = {}
    x, bottom = _EDGE, top + _TITLE
    for column in filter(None, columns):
        y = top + _TITLE
        for part in column:
            cards[part] = _Card(part, x, y)
            y += height(part) + _BETWEEN
        x, bottom = x + WIDTH + _GAP, max(bottom, y)
    width = max(x, len(picture.title) * 8 + 2 * _EDGE)
    lines = [f'<text {_ATTRIBUTES["name"]} x="{_EDGE}" y="{top + 28}">{escape(picture.title)}</text>']
    for start, end, what in picture.flows():
        lines += _flow(cards[picture.parts[start]], cards[picture.parts[end]], what)
    for card in cards.values():
        lines += _card(card)
    return lines, width, bottom - top + _EDGE


def _flow(start: _Card, end: _Card, what: str) -> Iterator[str]:
    """A curve from the side of one card to that of another; between cards of one column along their right sides."""
    y, to = start.y + _HEAD // 2, end.y + _HEAD // 2
    if start.x == end.x:
        side = start.x + WIDTH
        path = f"M{side} {y}C{side + 40} {y} {side + 40} {to} {side} {to}"
    else:
        left, right = (start.x + WIDTH, end.x) if start.x < end.x else (start.x, end.x + WIDTH)
        middle = (left + right) // 2
        path = f"M{left} {y}C{middle} {y} {middle} {to} {right} {to}"
    yield f'<path {_ATTRIBUTES["flow"]} d="{path}"><title>{escape(f"{start.part.name} to {end.part.name} {what}".strip())}</title></path>'


def _card(card: _Card) -> Iterator[str]:
    part, x, y = card
    look = f"card-{part.change}" if part.change else "card"
    yield f'<rect {_ATTRIBUTES[look]} x="{x}" y="{y}" width="{WIDTH}" height="{height(part)}" rx="8"/>'
    kind = f" ({part.type})" if part.type and part.type != part.name else ""
    title = shorten(f"{part.name}{kind}", _SHORT - 10 * bool(part.change))
    yield f'<text {_ATTRIBUTES["name"]} x="{x + 12}" y="{y + 20}">{escape(title)}</text>'
    if part.change:
        yield f'<text {_ATTRIBUTES[part.change]} x="{x + WIDTH - 12}" y="{y + 20}" text-anchor="end">{part.change}</text>'
    yield f'<text {_ATTRIBUTES["dim"]} x="{x + 12}" y="{y + 38}">{part.size}</text>'
    row = y + _HEAD
    for _ in range(min(part.replicas, _ROWS)):
        yield from _replica(part, x + 12, row)
        row += _POD
    if part.replicas > _ROWS:
        yield f'<text {_ATTRIBUTES["dim"]} x="{x + 12}" y="{row + 14}">and {count_of(part.replicas - _ROWS, "more replica")}</text>'
        row += _POD
    for number, line in enumerate(_lines(part), 1):
        yield f'<text {_ATTRIBUTES["dim"]} x="{x + 12}" y="{row + number * _LINE - 2}">{escape(line)}</text>'


def _replica(part: Part, x: int, y: int) -> Iterator[str]:
    """A row of pods, with a square for each GPU, and an outline for each standby engine's."""
    nodes, gpus = min(part.nodes, _NODES), min(part.gpus, _GPUS)
    wide = min((WIDTH - 24 - (28 if part.nodes > _NODES else 0)) // nodes, 76) - 4
    for node in range(nodes):
        left = x + node * (wide + 4)
        yield f'<rect {_ATTRIBUTES["pod"]} x="{left}" y="{y}" width="{wide}" height="{_POD - 4}" rx="4"/>'
        step = (wide - 6) // _GPUS
        for gpu in range(gpus):
            high = 4 if part.standby else 10
            yield f'<rect {_ATTRIBUTES["gpu"]} x="{left + 4 + gpu * step}" y="{y + 4}" width="{step - 2}" height="{high}"/>'
            if part.standby:
                yield f'<rect {_ATTRIBUTES["standby"]} x="{left + 4 + gpu * step}" y="{y + 10}" width="{step - 2}" height="4"/>'
    if part.nodes > _NODES:
        yield f'<text {_ATTRIBUTES["dim"]} x="{x + nodes * (wide + 4)}" y="{y + 13}">+{part.nodes - _NODES}</text>'
