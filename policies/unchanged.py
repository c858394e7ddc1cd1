"""What the rules about fields that must stay share: the text of a field now and in the stored object. Which fields those are is theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynamo_webhooks.policies.at import At, Hits


def now_and_before(at: At, field: str) -> tuple[str, str] | None:
    """The text of a field below this place and in the stored object; None when they are the same. Absent, null and "" are."""
    now, before = at.get(field) or "", at.was(field) or ""
    return None if now == before or at.old is None else (now, before)


def stays(at: At, field: str, thing: str) -> Hits:
    """Finds a field whose text an update changes; `thing` is what the object is called ("graph")."""
    if changed := now_and_before(at, field):
        seen, wanted = (f'"{value}"' if value else "unset" for value in changed)
        yield at.immutable(field, f"must stay {wanted} once the {thing} exists, got {seen}", value=changed[0])
