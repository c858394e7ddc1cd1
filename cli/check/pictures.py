"""The graphs that a run of `check` looked at, as pictures for its reports; those that can't be drawn are left out.

Costs as much as rendering the graphs of FILES files of LONGEST characters, however many a run reads; the schema bounds the components
of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.cli.picture.read import KINDS, Drawn, changed, draw
from dynamo_webhooks.cli.render.run import Asked, choose, render_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from dynamo_webhooks.cli.check.result import Result
    from dynamo_webhooks.cli.picture.parts import Picture
    from dynamo_webhooks.policies.facts import Facts

FILES: Final = 40  # whose graphs are drawn
LONGEST: Final = 1_000_000  # characters of one
GRAPHS: Final = 40


def drawn(arguments: argparse.Namespace, result: Result, facts: Facts) -> list[Picture]:
    """The pictures of the first graphs, in the order in which they stand; with `--against` only those that the change touches, marked.

    Placeholders are drawn as they stand: the values that they are given may be secrets.
    """
    asked = Asked(facts, choose(facts, None)[0], "default")
    if arguments.against is None:
        texts = {one.source.name: one.source.text for one in result.checked if one.identity.kind in KINDS}
        return [one.picture for one in _drawn(texts.items(), asked)]
    now = {one.source.name: one.source.text for one in result.checked}
    before, after = _changed(arguments, now)
    there = {(one.identity.kind, one.identity.namespace or "default", one.identity.name) for one in result.checked}
    new = _drawn(after.items(), asked)
    shown = {one.identity for one in new}
    old = [one for one in _drawn(before.items(), asked) if one.identity in shown or one.identity not in there]
    return [picture for picture in changed(old, new) if any(part.change for part in picture.parts)]


def _changed(arguments: argparse.Namespace, now: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The texts before and after of the first files that differ from the revision of `--against`."""
    from dynamo_webhooks.cli.revision import texts_at

    read = texts_at(arguments.against, arguments.paths, list(now), arguments.exclude)
    was = {name: text for name, text in read.items() if isinstance(text, str)}
    names = [name for name in sorted(was.keys() | now.keys()) if was.get(name) != now.get(name)][:FILES]
    return {name: was[name] for name in names if name in was}, {name: now[name] for name in names if name in now}


def _drawn(texts: Iterable[tuple[str, str]], asked: Asked) -> list[Drawn]:
    found: list[Drawn] = []
    for number, (name, text) in enumerate(texts):
        if number == FILES or len(found) >= GRAPHS:
            break
        if len(text) <= LONGEST:
            found += draw(render_text(name, text, asked)).drawn
    return found[:GRAPHS]
