"""The finding about an object that is too long, or nearly, for the kind's other version; the same in server and `check`."""

from ..conversion.kinds import KINDS, kind_of
from ..conversion.lens.protocol import ConversionError
from ..conversion.weight import LIGHT, weigh
from ..policies.checks import LONG_REMAINDER
from ..policies.evaluate import is_deletion
from ..policies.finding import Cause, Finding, Level
from ..policies.review import Review


def long_remainder(review: Review, length: int) -> list[Finding]:
    """The finding about an object in a request of `length` bytes; the Go operator has none."""
    name, _, version = review.kind.partition("/")
    if length < LIGHT or name not in KINDS or is_deletion(review):
        return []
    try:
        found = weigh(kind_of(name, review.line), review.object, version, review.old)
    except ConversionError:
        return []  # stored unchanged, or refused by its conversion
    if found is None:
        return []
    return [Finding(LONG_REMAINDER, Cause.INVALID, Level.ERROR if found.refused else Level.WARNING, found.path, found.text)]
