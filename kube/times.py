"""Times as Kubernetes objects say them."""

from datetime import UTC, datetime


def now() -> datetime:
    """The local clock, UTC."""
    return datetime.now(UTC)


def format_micro_time(moment: datetime) -> str:
    """A MicroTime, as Leases have it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def format_time(moment: datetime) -> str:
    """A Time, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: object) -> datetime | None:
    """The moment that a Time or MicroTime names; None when it names none."""
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        return moment.astimezone(UTC) if moment is not None and moment.tzinfo else None
    except (ValueError, OverflowError):  # the latter before the first year
        return None
