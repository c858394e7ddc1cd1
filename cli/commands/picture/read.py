"""Draws the graphs of rendered texts; their children show Services and restarts."""

from typing import Final, NamedTuple

from ....conversion.lens.protocol import Fields
from ....reconciler.render.errors import RenderError
from ...objects.manifest import Placed, pair_up
from ..render.run import Outcome as Rendered
from ..render.run import format_problem
from .parts import Picture, mark_changes, picture

KINDS: Final = ("DynamoGraphDeployment", "DynamoComponentDeployment")


class Drawn(NamedTuple):
    """One object's picture, and the children that it was made beside."""

    file: str
    picture: Picture
    children: list[Fields]

    @property
    def identity(self) -> tuple[str, str, str]:
        """The identity of the graph."""
        return self.picture.kind, self.picture.namespace, self.picture.name


class Outcome(NamedTuple):
    """What became of one text."""

    drawn: list[Drawn]
    problems: list[str]


def draw(rendered: Rendered) -> Outcome:
    """The pictures of all graphs in a rendered text, in order; children that can't be rendered are left out."""
    out = Outcome([], [])
    for one in rendered.made:
        if one.found.identity.kind not in KINDS or not one.found.known:
            continue
        if one.object is None:
            out.problems.extend(one.problems)
            continue
        try:
            out.drawn.append(Drawn(one.found.document.source.name, picture(one.object, one.children), one.children))
        except RenderError as error:
            out.problems.append(format_problem(one.found, error.path, error.reason))
    return out


def pair_pictures(before: list[Drawn], after: list[Drawn]) -> list[Picture]:
    """The pictures of both sides, paired by kind, namespace and name, with what the change does; those that are gone come last."""
    sides = ([Placed(one.file, one.identity, one) for one in side] for side in (before, after))
    pairs = ((was and was.value, now and now.value) for was, now in pair_up(*sides))
    made = (
        mark_changes(was and was.picture, now and now.picture, was.children if was else [], now.children if now else [])
        for was, now in pairs
    )
    return [picture for picture in made if picture is not None]
