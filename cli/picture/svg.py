"""A picture as SVG, in the colours of the reader's theme: entries on the left, workers in the middle, all others on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from xml.sax.saxutils import escape

from dynamo_webhooks.api.wording import many, shortened
from dynamo_webhooks.cli.picture.parts import ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.cli.picture.parts import Part, Picture

_STYLE: Final = """
svg{--ink:#1f2328;--dim:#59636e;--page:#fff;--card:#f6f8fa;--line:#d1d9e0;--gpu:#76b900;
--added:#1a7f37;--removed:#cf222e;--restarts:#9a6700;--scales:#0969da;font:13px system-ui,sans-serif}
@media(prefers-color-scheme:dark){svg{--ink:#f0f6fc;--dim:#9198a1;--page:#0d1117;--card:#151b23;--line:#3d444d;
--added:#3fb950;--removed:#f85149;--restarts:#d29922;--scales:#4493f8}}
.page{fill:var(--page)}.card{fill:var(--card);stroke:var(--line)}.pod{fill:none;stroke:var(--dim)}.gpu{fill:var(--gpu)}
.standby{fill:none;stroke:var(--gpu);stroke-dasharray:2}text{fill:var(--ink)}.dim{fill:var(--dim);font-size:12px}
.name{font-weight:600}.flow{fill:none;stroke:var(--line);stroke-width:1.5}
.added{stroke:var(--added);stroke-width:3}.removed{stroke:var(--removed);stroke-width:3;stroke-dasharray:6}
.restarts{stroke:var(--restarts);stroke-width:3}.scales{stroke:var(--scales);stroke-width:3}
text.added{fill:var(--added);stroke:none}text.removed{fill:var(--removed);stroke:none}
text.restarts{fill:var(--restarts);stroke:none}text.scales{fill:var(--scales);stroke:none}
"""
_HEAD_OF_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<style>body{margin:0;background:#fff}@media(prefers-color-scheme:dark){body{background:#0d1117}}svg{max-width:100%;height:auto}</style>
"""
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
_SHORT: Final = 40  # characters of a line of a card


class _Card(NamedTuple):
    part: Part
    x: int
    y: int

    @property
    def height(self) -> int:
        return height(self.part)


def svg(pictures: list[Picture]) -> str:
    """All pictures below one another, in one document."""
    bodies, y, width = [], 0, 0
    for picture in pictures:
        lines, wide, high = _picture(picture, y)
        bodies += lines
        y, width = y + high, max(width, wide)
    title = escape("; ".join(picture.title for picture in pictures[:3]), {'"': "&quot;"})
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" height="{y}" role="img"'
    paper = f'<rect class="page" width="{width}" height="{y}"/>'
    return "\n".join([f'{head} aria-label="{title}">', f"<style>{_STYLE}</style>", paper, *bodies, "</svg>", ""])


def page(pictures: list[Picture]) -> str:
    """A page of one file with the pictures in it; nothing of it runs, and nothing is fetched."""
    title = escape(pictures[0].title if len(pictures) == 1 else many(len(pictures), "object"))
    return f"{_HEAD_OF_PAGE}<title>{title}</title>\n{svg(pictures)}</html>\n"


def height(part: Part) -> int:
    """The height of a component's card."""
    rows = min(part.replicas, _ROWS) + (part.replicas > _ROWS)
    return _HEAD + rows * _POD + len(part.notes) * _LINE + 12


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
    lines = [f'<text class="name" x="{_EDGE}" y="{top + 28}">{escape(picture.title)}</text>']
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
    yield f'<path class="flow" d="{path}"><title>{escape(f"{start.part.name} to {end.part.name} {what}".strip())}</title></path>'


def _card(card: _Card) -> Iterator[str]:
    part, x, y = card
    change = f" {part.change}" if part.change else ""
    yield f'<rect class="card{change}" x="{x}" y="{y}" width="{WIDTH}" height="{card.height}" rx="8"/>'
    kind = f" ({part.type})" if part.type and part.type != part.name else ""
    yield f'<text class="name" x="{x + 12}" y="{y + 20}">{escape(shortened(f"{part.name}{kind}", _SHORT))}</text>'
    if part.change:
        yield f'<text class="{part.change}" x="{x + WIDTH - 12}" y="{y + 20}" text-anchor="end">{part.change}</text>'
    yield f'<text class="dim" x="{x + 12}" y="{y + 38}">{part.size}</text>'
    row = y + _HEAD
    for _ in range(min(part.replicas, _ROWS)):
        yield from _replica(part, x + 12, row)
        row += _POD
    if part.replicas > _ROWS:
        yield f'<text class="dim" x="{x + 12}" y="{row + 14}">and {many(part.replicas - _ROWS, "more replica")}</text>'
        row += _POD
    for number, note in enumerate(part.notes, 1):
        yield f'<text class="dim" x="{x + 12}" y="{row + number * _LINE - 2}">{escape(shortened(note, _SHORT))}</text>'


def _replica(part: Part, x: int, y: int) -> Iterator[str]:
    """A row of pods, with a square for each GPU, and an outline for each standby engine's."""
    nodes, gpus = min(part.nodes, _NODES), min(part.gpus, _GPUS)
    wide = min((WIDTH - 24 - (28 if part.nodes > _NODES else 0)) // nodes, 76) - 4
    for node in range(nodes):
        left = x + node * (wide + 4)
        yield f'<rect class="pod" x="{left}" y="{y}" width="{wide}" height="{_POD - 4}" rx="4"/>'
        step = (wide - 6) // _GPUS
        for gpu in range(gpus):
            yield f'<rect class="gpu" x="{left + 4 + gpu * step}" y="{y + 4}" width="{step - 2}" height="{4 if part.standby else 10}"/>'
            if part.standby:
                yield f'<rect class="standby" x="{left + 4 + gpu * step}" y="{y + 10}" width="{step - 2}" height="4"/>'
    if part.nodes > _NODES:
        yield f'<text class="dim" x="{x + nodes * (wide + 4)}" y="{y + 13}">+{part.nodes - _NODES}</text>'
