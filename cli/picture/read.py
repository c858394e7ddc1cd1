"""Reads the graphs of a text and of a revision, each with its rendered children, which tell Services and restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.cli.check.objects import objects, unfolded
from dynamo_webhooks.cli.picture.parts import Picture, compared, picture
from dynamo_webhooks.cli.render.admit import admitted
from dynamo_webhooks.cli.render.kinds import children
from dynamo_webhooks.cli.render.run import told
from dynamo_webhooks.cli.yaml.load import Document, InputError, Source, read
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.held import Held

if TYPE_CHECKING:
    from dynamo_webhooks.cli.render.run import Asked
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
    unreadable: list[InputError]


def draw(name: str, text: str, asked: Asked) -> Outcome:
    """The pictures of all graphs in a text, in the order in which they stand; children that can't be rendered are left out."""
    out = Outcome([], [], [])
    documents: list[Document] = []
    for one in read(Source(name, text)):
        if isinstance(one, InputError):
            out.unreadable.append(one)
        else:
            documents.append(one)
    held = Held((one.data for document in documents for one in unfolded(document)), asked.namespace)
    for found in objects(documents):
        if found.identity.kind not in KINDS or not found.known:
            continue
        stored = admitted(found.data, asked.facts, asked.namespace)
        if stored.errors:
            out.problems.extend(told(found, path, sentence) for path, sentence in stored.errors)
            continue
        made = children(stored.object, held, asked.operator)
        try:
            out.drawn.append(Drawn(picture(stored.object, made.children), made.children))
        except RenderError as error:
            out.problems.append(told(found, error.path, error.reason))
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
