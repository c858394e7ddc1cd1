"""The finding about an object that is too long, or nearly, for the kind's other version; the same in server and `check`."""

from __future__ import annotations

from typing import Final

from dynamo_webhooks.conversion.kinds import KINDS, kind_of
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
    """The finding about an object in a request of `length` bytes; the Go operator has none."""
    name, _, version = review.kind.partition("/")
    if length < LIGHT or review.profile != CURRENT or name not in KINDS or deleting(review):
        return []
    try:
        found = weighed(kind_of(name, review.line), review.object, version, review.old)
    except ConversionError:
        return []  # stored unchanged, or refused by its conversion
    if found is None:
        return []
    return [Finding(_RULE, Cause.INVALID, Level.ERROR if found.refused else Level.WARNING, found.path, found.text)]
