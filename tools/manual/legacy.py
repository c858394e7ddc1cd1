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

This page shows how `dynamo-webhooks convert` writes documents of the first releases, which had other kinds and built images in the cluster.
`dynamo-webhooks check` recognises them. For every field, stderr says whether it was mapped, has no equivalent, or needs your decision.

- Fields in the column "today" are those of v1alpha1. `--to v1beta1` converts the result further; see [fields](fields.md).
- A field that isn't listed is copied if the current kind has it, else left out. Both are reported.
- Values of a wrong type are left out for you to decide; integers become strings where a string is required.
- You decide each component's command and type, and its image, unless the `DynamoComponent` that names it is in the same file.
- `create` of a claim is kept only if size, storage class and access mode are known. Otherwise the claim must exist.
"""


_WORDS: Final = {
    How.GONE: "no equivalent",
    How.DECIDE: "decide",
    How.IMAGE: "{to} if the build is known, else decide",
    How.NAMESPACE: "{to} if it is `dynamo`, else no equivalent",
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
        model = _model(kind)
        yield from _table(kind, frozenset(model.fields if model else ()))
        if model:
            yield from ("", f"Other fields are as in [{model.name}](#{model.name.lower()}).")
    else:
        names = ((new.name, old.name) for new, old in zip(kind.fields, first.fields, strict=True) if new.name != old.name)
        yield f"As `{first.name}`, with {', '.join(f'`{new}` for `{old}`' for new, old in names)}."
    yield ""


def _model(kind: LegacyKind) -> LegacyKind | None:
    """The first kind of the page, if the kind becomes an object as it does: its table lists the fields that both have."""
    first = next(iter(KINDS.values()))
    return first if kind is not first and kind.becomes else None


def _table(kind: LegacyKind, known: frozenset[Field]) -> Iterator[str]:
    """One row for each effect, with all the fields that have it, without those known."""
    rows: dict[tuple[str, str], list[str]] = {}
    for field in kind.fields:
        if field in known:
            continue
        if field.how is not How.CLAIM or field.to:  # the block as a whole stands for its fields, which follow
            rows.setdefault((_today(field), field.text), []).append(f"`{field.name}`")
    yield from ("| field | today | |", "| --- | --- | --- |")
    for (today, text), names in rows.items():
        yield f"| {'<br>'.join(names)} | {today} | {text} |"


def _today(field: Field) -> str:
    to = f"`{field.to}`" if field.to else "the same field"
    return _WORDS.get(field.how, "{to}").format(to=to)
