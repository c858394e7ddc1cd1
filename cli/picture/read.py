"""Draws the graphs of rendered texts; their children tell Services and restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.cli.picture.parts import Picture, compared, picture
from dynamo_webhooks.cli.render.run import told
from dynamo_webhooks.reconciler.render.errors import RenderError

if TYPE_CHECKING:
    from dynamo_webhooks.cli.render.run import Outcome as Rendered
    from dynamo_webhooks.conversion.lens.protocol import Fields

KINDS: Final = ("DynamoGraphDeployment", "DynamoComponentDeployment")


class Drawn(NamedTuple):
    """One object's picture, and the children that it was made beside."""

    picture: Picture
    children: list[Fields]

    @property
    def identity(self) -> tuple[str, str, str]:
        """What tells it from others."""
        return self.picture.kind, self.picture.namespace, self.picture.name


class Outcome(NamedTuple):
    """What became of one text."""

    drawn: list[Drawn]
    problems: list[str]


def draw(rendered: Rendered) -> Outcome:
    """The pictures of all graphs in a rendered text, in the order in which they stand; children that can't be rendered are left out."""
    out = Outcome([], [])
    for one in rendered.made:
        if one.found.identity.kind not in KINDS or not one.found.known:
            continue
        if one.object is None:
            out.problems.extend(one.problems)
            continue
        try:
            out.drawn.append(Drawn(picture(one.object, one.children), one.children))
        except RenderError as error:
            out.problems.append(told(one.found, error.path, error.reason))
    return out


def changed(before: list[Drawn], after: list[Drawn]) -> list[Picture]:
    """The pictures of both sides, paired by kind, namespace and name, with what the change does; those that are gone come last."""
    old = {one.identity: one for one in before}
    new = {one.identity: one for one in after}
    pictures = []
    for identity in (*new, *(identity for identity in old if identity not in new)):
        was, now = old.get(identity), new.get(identity)
        made = compared(was and was.picture, now and now.picture, was.children if was else [], now.children if now else [])
        pictures += [made] if made is not None else []
    return pictures
