"""What our defaults change in one object, as the mutating webhook would: in its version or, where they read the other one, across.

Shared by `check`, `default`, `diff` and `render`. Files are read elsewhere; the schema's defaults, which the API server sets first, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.cli.check.versions import read_as
from dynamo_webhooks.policies.edit import apply, patch
from dynamo_webhooks.policies.evaluate import edits, idle
from dynamo_webhooks.policies.review import CURRENT, DELETE, Review

if TYPE_CHECKING:
    from dynamo_webhooks.policies.edit import Edit, PatchOperation
    from dynamo_webhooks.policies.finding import Finding
    from dynamo_webhooks.policies.review import Fields
    from dynamo_webhooks.webhooks.across import Across


class Defaulted(NamedTuple):
    """The defaults of one object; `judged` is the review in the version that they read, None where they are not asked at all."""

    review: Review
    judged: Review | None
    across: Across | None  # None where the versions are the same
    edits: list[Edit]  # in the version that is read

    @property
    def object(self) -> Fields:
        """The author's object with the edits applied; the very same one where there are none."""
        if not self.edits or self.judged is None:
            return self.review.object
        if self.across is None:
            return apply(self.review.object, self.edits)
        return self.across.changed(self.review.object, self.edits)

    def patch(self, chosen: list[Edit] | None = None) -> list[PatchOperation]:
        """The server's patch of the author's object; of some of the edits where the effect of one default is asked for."""
        chosen = self.edits if chosen is None else chosen
        if not chosen or self.judged is None:
            return []
        if self.across is None:
            return patch(self.review.object, chosen)
        return self.across.patch(self.review.object, chosen)

    def idle(self) -> list[Finding]:
        """Defaults that could not be asked, for want of a fact or by a fault of ours; in the author's fields."""
        if self.judged is None:
            return []
        found = idle(self.judged)
        return self.across.findings(found, self.judged.object, self.review.object) if self.across and found else found


def defaulted(review: Review) -> Defaulted:
    """Asks the defaults; the review holds the object as the API server sends it, with the schema's defaults.

    Raises: ConversionError where the defaults read another version than the author's and that can't say it.
    """
    kind, _, version = review.kind.partition("/")
    read = read_as(kind, version, review.profile, defaults=True)
    if not read or review.operation == DELETE or _is_left_alone(review):
        return Defaulted(review, None, None, [])
    if read == version:
        return Defaulted(review, review, None, edits(review))
    from dynamo_webhooks.webhooks.across import Across

    across = Across(kind, version, read)
    old = None if review.old is None or review.profile != CURRENT else across.judged(review.old)
    judged = Review(
        f"{kind}/{read}",
        review.operation,
        across.judged(review.object),
        old,
        user=review.user,
        facts=review.facts,
        profile=review.profile,
    )
    return Defaulted(review, judged, across, edits(judged))


def _is_left_alone(review: Review) -> bool:
    """Whether another operator has leased the namespace: under profile current its objects are not ours to change."""
    names = review.facts.excludedNamespaces
    leased = review.facts.operatorScope == "cluster" and isinstance(names, frozenset) and review.metadata.get("namespace") in names
    return leased and review.profile == CURRENT
