"""The page of a kind of the first releases, and of the fields that only those had."""

from __future__ import annotations

from typing import Any, Final

from dynamo_webhooks.cli.legacy.fields import Field, How, LegacyKind
from dynamo_webhooks.cli.legacy.kinds import KINDS

_TODAY: Final = {How.GONE: "no equivalent", How.DECIDE: "you must decide", How.CLAIM: "a claim of the graph, and a mount"}

Page = dict[str, Any]


def find(word: str) -> Page | None:
    """The page of a legacy kind whose name no kind of today has; None for any other word."""
    from dynamo_webhooks.cli.kinds import find_kind

    name = next((name for name in KINDS if name.lower() == word.strip().lower()), None)
    return _kind(KINDS[name]) if name is not None and find_kind(name) is None else None


def field(word: str) -> Page | None:
    """The page of a field path that only legacy kinds have; None when none has it."""
    steps = tuple(step for step in word.strip().replace("[", ".").replace("]", "").split(".") if step)
    rows = [(kind, row) for kind in KINDS.values() for row in kind.fields if _fits(row, steps)]
    return {"legacyField": word.strip(), "places": [{"kind": kind.name, **_row(row)} for kind, row in rows]} if rows else None


def _fits(row: Field, steps: tuple[str, ...]) -> bool:
    # a row for all other fields of a block is no answer to a field
    return (
        row.steps[-1] != "*"
        and len(row.steps) == len(steps) > 1
        and all(known in ("*", step) for known, step in zip(row.steps, steps, strict=True))
    )


def _kind(kind: LegacyKind) -> Page:
    return {"legacyKind": kind.name, "becomes": kind.becomes, "description": kind.about, "fields": [_row(row) for row in kind.fields]}


def _row(row: Field) -> dict[str, str]:
    today = _TODAY.get(row.how) or (row.to or row.name)
    return {"path": row.name, "today": today, "about": row.text}


def markdown(page: Page) -> str:
    """The page for people."""
    if "legacyField" in page:
        lines = [f"- {place['kind']} `{place['path']}`: {_told(place)}" for place in page["places"]]
        about = "A field of the first releases; today's kinds don't have it."
        return "\n\n".join([f"# {page['legacyField']}", about, "\n".join(lines), _HOW]) + "\n"
    becomes = f"It becomes a {page['becomes']}." if page["becomes"] else "Nothing of today does its work, so no object comes of it."
    own = [row for row in page["fields"] if row["path"].startswith(("spec.", "status"))]
    same = ", ".join(f"`{row['path']}`" for row in own if row["path"] == row["today"] and not row["about"])
    rows = "\n".join(f"- `{row['path']}`: {_told(row)}" for row in own if row["path"] != row["today"] or row["about"])
    kept = f"Under the same name today: {same}." if same else ""
    parts = [f"# {page['legacyKind']} (a kind of the first releases)", f"{page['description']} {becomes}", _HOW, rows, kept]
    return "\n\n".join(part for part in parts if part) + "\n"


_HOW: Final = "`dynamo-webhooks convert FILE --to v1beta1` writes the current form, and reports what became of every field."


def _told(row: dict[str, str]) -> str:
    today = row["today"] if row["today"] in _TODAY.values() else f"`{row['today']}`"
    return f"{today}; {row['about']}" if row["about"] else today
