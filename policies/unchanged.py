"""Compares a field with that of the stored object."""

from .at import At, Findings


def read_now_and_before(at: At, field: str) -> tuple[str, str] | None:
    """The text of a field below a place and in the stored object; None when they are the same. Absent, null and "" are."""
    now, before = at.get(field) or "", at.was(field) or ""
    return None if now == before or at.old is None else (now, before)


def check_unchanged(at: At, field: str, thing: str) -> Findings:
    """Find a field whose text an update changes; `thing` names the object ("graph")."""
    if changed := read_now_and_before(at, field):
        seen, wanted = (f'"{value}"' if value else "unset" for value in changed)
        yield at.immutable(field, f"must stay {wanted} once the {thing} exists, got {seen}", value=changed[0])
