"""What the server says of an object that is too long, or nearly, for the kind's other version. `check` says the same of files."""

from __future__ import annotations

from typing import Final

from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.weight import CODE, LIGHT, NAME, weighed
from dynamo_webhooks.policies.evaluate import deleting
from dynamo_webhooks.policies.finding import Cause, Finding, Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CURRENT, Review
from dynamo_webhooks.policies.rule import BOTH, Rule

_RULE: Final = Rule(
    code=CODE,
    name=NAME,
    where={},
    when=(),
    on=frozenset(),
    needs=(),
    level=Level.WARNING,
    stage=Stage.SHAPE,
    ratchets=False,
    profile=BOTH,
    difference=None,
    documentation="",
    module=__name__,
)


def long_remainder(review: Review, length: int) -> list[Finding]:
    """The finding about an object that came in a request of so many bytes; the Go operator has none."""
    name, _, version = review.kind.partition("/")
    if length < LIGHT or review.profile != CURRENT or name not in KINDS or deleting(review):
        return []
    try:
        found = weighed(KINDS[name], review.object, version, review.old)
    except ConversionError:
        return []  # stored as it is, or refused on its way there
    if found is None:
        return []
    return [Finding(_RULE, Cause.INVALID, Level.ERROR if found.refused else Level.WARNING, found.path, found.text)]
