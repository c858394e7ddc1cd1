"""Writes docs/legacy.md from the declarations of the legacy kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.cli.legacy.fields import How
from dynamo_webhooks.cli.legacy.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.cli.legacy.fields import Field, LegacyKind

_HEAD: Final = """\
<!-- written by `make docs` (tools/pages.py) from cli/legacy/kinds.py; edit that, not this file -->

# Kinds of the first releases

The first releases had other kinds and built images in the cluster. `dynamo-webhooks check` recognises their documents, and
`dynamo-webhooks convert` writes them as today's kinds. For every field, stderr says whether it was mapped, has no equivalent, or needs
your decision.

- Fields in the column "today" are those of v1alpha1. With `--to v1beta1` the result is converted further; see [fields](fields.md).
- A field that isn't listed is copied if today's kind has it, else left out. Both are reported.
- Values of a wrong type are left out for you to decide; whole numbers become strings where a string is required.
- The documents don't say which image and command a component runs, or its type. If the `DynamoComponent` that names the image is in the
  same file, the image is written into every component without one. You decide the rest.
- `create` of a claim is kept only if size, storage class and access mode are known. Otherwise the claim must exist.
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
