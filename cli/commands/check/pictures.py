"""The graphs that a run of `check` looked at, as pictures for its reports, and why some can't be drawn.

Costs as much as rendering the graphs of FILES files of LONGEST characters, however many a run reads.
"""

from collections.abc import Iterable
from typing import Final

from ....policies.facts import Facts
from ..render.run import DEFAULT_NAMESPACE, Asked, choose_operator, render_text
from .graph_parts import KINDS, Drawn, Picture, draw, pair_pictures
from .options import Options
from .result import Result

FILES: Final = 40  # whose graphs are drawn
MAX_PICTURE_CHARACTERS: Final = 1_000_000
GRAPHS: Final = 40


def draw_graphs(options: Options, result: Result, facts: Facts) -> tuple[list[Picture], list[str]]:
    """The pictures of the first graphs, in order, and problems of others; with `--against` only those that the change touches, marked."""
    operator = choose_operator(facts, None)[0]._replace(restarted=options.against is not None)
    request = Asked(facts, operator, DEFAULT_NAMESPACE)
    if options.against is None:
        texts = {obj.source.name: obj.source.text for obj in result.checked if obj.identity.kind in KINDS}
        drawn, undrawn = _draw(texts.items(), request)
        return [graph.picture for graph in drawn], undrawn
    now = {obj.source.name: obj.source.text for obj in result.checked}
    before, after, changed = _changed(options, options.against, now)
    new, undrawn = _draw(after.items(), request)
    shown = {graph.identity for graph in new}
    placed = {(graph.file, *graph.identity) for graph in new}
    # what a changed file holds and is not drawn may have moved there: its old file doesn't show that it is gone
    held = ((obj.source.name, obj.identity) for obj in result.checked if obj.source.name in changed)
    kept = {
        key for file, identity in held if (file, *(key := (identity.kind, identity.namespace or "default", identity.name))) not in placed
    }
    old = [graph for graph in _draw(before.items(), request)[0] if graph.identity in shown or graph.identity not in kept]
    return [picture for picture in pair_pictures(old, new) if any(part.change for part in picture.parts)], undrawn


def _changed(options: Options, revision: str, now: dict[str, str]) -> tuple[dict[str, str], dict[str, str], set[str]]:
    """The texts before and after of the first files that differ from the revision of `--against`, and the names of all that do."""
    from ...files.revision import texts_at

    read = texts_at(revision, options.paths, list(now), options.exclude)
    was = {name: text for name, text in read.items() if isinstance(text, str)}
    changed = {name for name in was.keys() | now.keys() if was.get(name) != now.get(name)}
    names = sorted(changed)[:FILES]
    return {name: was[name] for name in names if name in was}, {name: now[name] for name in names if name in now}, changed


def _draw(texts: Iterable[tuple[str, str]], request: Asked) -> tuple[list[Drawn], list[str]]:
    graphs: list[Drawn] = []
    problems: list[str] = []
    for number, (name, text) in enumerate(texts):
        if number == FILES or len(graphs) >= GRAPHS:
            problems.append(f"{name} and later files: a report draws at most {GRAPHS} graphs of {FILES} files")
            break
        if len(text) > MAX_PICTURE_CHARACTERS:
            problems.append(f"{name}: must have at most {MAX_PICTURE_CHARACTERS:,} characters to be drawn, got {len(text):,}")
            continue
        drawn, more = draw(render_text(name, text, request))
        graphs += drawn
        problems += more
    return graphs[:GRAPHS], problems
