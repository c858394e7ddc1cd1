"""Renders the objects of one text. Which files are read, what is printed and the exit code are the command's."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.api.paths import render as rendered_path
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check.objects import objects
from dynamo_webhooks.cli.check.versions import unknown
from dynamo_webhooks.cli.render.admit import admitted
from dynamo_webhooks.cli.yaml.load import Document, InputError, Source, read
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.translate import translated
from dynamo_webhooks.reconciler.render.children import render

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.cli.check.objects import Found
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.policies.facts import Facts
    from dynamo_webhooks.reconciler.render.errors import RenderError
    from dynamo_webhooks.reconciler.render.settings import Settings

LONGEST = 2_000  # characters of one message
_RENDERED_FROM = "v1beta1"


class Outcome(NamedTuple):
    """What became of one text."""

    children: list[Fields]
    objects: int  # of our kinds
    problems: list[str]  # objects, or parts of them, that no children could be made of
    unreadable: list[InputError]


class Asked(NamedTuple):
    """What a run was asked for; the same for every object."""

    facts: Facts
    settings: Settings
    namespace: str  # of objects that name none


def render_text(name: str, text: str, asked: Asked) -> Outcome:
    """The children of every object in a text, in the order in which the objects stand."""
    out = Outcome([], 0, [], [])
    documents: list[Document] = []
    for one in read(Source(name, text)):
        if isinstance(one, InputError):
            out.unreadable.append(one)
        else:
            documents.append(one)
    count = 0
    for found in objects(documents):
        count += 1
        _render(found, asked, out)
    return out._replace(objects=count)


def _render(found: Found, asked: Asked, out: Outcome) -> None:
    if not found.known:
        out.problems.append(_told(found, (), unknown(found.identity.kind, found.version)))
        return
    stored = admitted(found.data, asked.facts, asked.namespace)
    if stored.errors:
        out.problems.extend(_told(found, path, text) for path, text in stored.errors)
        return
    made = render(stored.object, asked.settings)
    out.children.extend(made.children)
    out.problems.extend(_problem(found, stored.object, error) for error in made.problems)


def _problem(found: Found, obj: Fields, error: RenderError) -> str:
    """A problem in the author's fields: rendering reads one version, people write either."""
    path = error.path
    kind = KINDS.get(found.identity.kind)
    if kind is not None and path[:1] == ("spec",) and found.version != _RENDERED_FROM:
        from dynamo_webhooks.reconciler.render.graph import NEW, converted

        path = translated(kind, path, converted(obj, NEW), found.version, obj).path
    return _told(found, path, error.reason)


def _told(found: Found, path: Path, text: str) -> str:
    line, column, _ = found.document.value_position(path)
    field = rendered_path(path)
    return shortened(f"{found.document.source.name}:{line}:{column}: {found.identity}: {field}{': ' if field else ''}{text}", LONGEST)
