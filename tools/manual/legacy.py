"""Writes docs/legacy.md from the declarations of the legacy kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.cli.legacy.fields import How
from dynamo_webhooks.cli.legacy.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.cli.legacy.fields import Field, LegacyKind

_HEAD: Final = """\
<!-- written by `make docs` (tools/pages.py) from cli/legacy/kinds.py and component.py; edit those, not this file -->

# Kinds of the first releases

The first releases had other kinds, and built images in the cluster. Today's API server knows neither: `dynamo-webhooks check` recognises
their documents, and `dynamo-webhooks convert` writes them as today's kinds. On stderr it tells of every field whether it was mapped, has
no equivalent, or waits for a person to decide.

- Places of today are those of v1alpha1; with `--to v1beta1` the result is converted on, and [fields](fields.md) says where they lie then.
- A field that isn't listed here is copied where today's kind has it, and left out otherwise. Either way it is told.
- Values of a wrong type are left out for a person to decide; whole numbers where text is wanted become text.
- No document said what its build knew: which image and command a component runs, and of which type it is. Give the `DynamoComponent`
  that names its image in the same file, and the image is written into every component that has none. The rest is for a person.
- A claim is made by today's operator only where its size, storage class and access mode are all known. Else `create` stays away, and
  the claim must exist.
"""


_WORDS: Final = {
    How.GONE: "no equivalent",
    How.DECIDE: "a person must decide",
    How.IMAGE: "{to} where the build tells it, else a person must decide",
    How.NAMESPACE: "{to} where it is `dynamo`, else no equivalent",
}


def legacy_page() -> str:
    """The page of all legacy kinds."""
    return "\n".join([_HEAD, *(line for kind in KINDS.values() for line in _section(kind))])


def _section(kind: LegacyKind) -> Iterator[str]:
    becomes = f"Becomes `{kind.becomes}`." if kind.becomes else "Becomes no object."
    yield from (f"## {kind.name}", "", f"{kind.about} {becomes}", "")
    # a kind that only got another name has the other one's table
    first = next(one for one in KINDS.values() if one is kind or (kind.becomes and one.becomes == kind.becomes))
    if first is kind:
        yield from _table(kind)
    else:
        names = ((new.name, old.name) for new, old in zip(kind.fields, first.fields, strict=True) if new.name != old.name)
        yield f"As `{first.name}`, with {', '.join(f'`{new}` for `{old}`' for new, old in names)}."
    yield ""


def _table(kind: LegacyKind) -> Iterator[str]:
    """One row for each thing that is said, with all the fields that it is true of."""
    rows: dict[tuple[str, str], list[str]] = {}
    for field in kind.fields:
        if field.how is not How.CLAIM or field.to:  # the block as a whole stands for its fields, which follow
            rows.setdefault((_today(field), field.text), []).append(f"`{field.name}`")
    yield from ("| field | today | |", "| --- | --- | --- |")
    for (today, text), names in rows.items():
        yield f"| {'<br>'.join(names)} | {today} | {text} |"


def _today(field: Field) -> str:
    to = f"`{field.to}`" if field.to else "the same field"
    return _WORDS.get(field.how, "{to}").format(to=to)
