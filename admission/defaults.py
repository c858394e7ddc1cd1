"""Computes the defaults of one object, in its version or, if they read the other one, in its conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.admission.beta_rules import BetaRules
from dynamo_webhooks.admission.registration import Purpose, read_as
from dynamo_webhooks.policies.domain import on_1_5
from dynamo_webhooks.policies.edit import apply, patch
from dynamo_webhooks.policies.evaluate import edits, idle
from dynamo_webhooks.policies.review import CURRENT, DELETE, Review

if TYPE_CHECKING:
    from dynamo_webhooks.admission.version_view import VersionView
    from dynamo_webhooks.policies.edit import Edit, PatchOperation
    from dynamo_webhooks.policies.finding import Finding
    from dynamo_webhooks.policies.review import Fields


class Defaulted(NamedTuple):
    """The defaults of one object; `judged` is the review in the version that they read, None if they don't apply."""

    review: Review
    judged: Review | None
    view: VersionView | None  # None if the versions are the same
    edits: list[Edit]  # in the version that they read

    @property
    def object(self) -> Fields:
        """The author's object with the edits applied; the same instance if there are none."""
        if not self.edits or self.judged is None:
            return self.review.object
        if self.view is None:
            return apply(self.review.object, self.edits)
        return self.view.changed(self.review.object, self.edits)

    def patch(self, chosen: list[Edit] | None = None) -> list[PatchOperation]:
        """The server's patch of the author's object, for all edits or for those given."""
        chosen = self.edits if chosen is None else chosen
        if not chosen or self.judged is None:
            return []
        if self.view is None:
            return patch(self.review.object, chosen)
        return self.view.patch(self.review.object, chosen)

    def idle(self) -> list[Finding]:
        """Defaults that could not be evaluated, because of a missing fact or an internal error, with the author's field paths."""
        if self.judged is None:
            return []
        found = idle(self.judged)
        return self.view.findings(found, self.judged.object, self.review.object) if self.view and found else found


def _tell_forced(judged: Review, written: Review) -> None:
    if on_1_5(written):
        judged.forced = BetaRules(written).forced


def defaulted(review: Review) -> Defaulted:
    """Evaluates the defaults of a review, whose object has the schema's defaults.

    Raises: ConversionError if the defaults read the other version, which can't represent the object.
    """
    kind, _, version = review.kind.partition("/")
    read = read_as(kind, Purpose.MUTATE)
    if not read or review.operation == DELETE or (review.profile == CURRENT and review.facts.excludes(review.metadata.get("namespace"))):
        return Defaulted(review, None, None, [])
    if read == version:
        _tell_forced(review, review)
        return Defaulted(review, review, None, edits(review))
    from dynamo_webhooks.admission.version_view import VersionView

    view = VersionView(kind, version, read, review.line)
    old = None if review.old is None or review.profile != CURRENT else view.judged(review.old)
    judged = Review(
        f"{kind}/{read}",
        review.operation,
        view.judged(review.object),
        old,
        user=review.user,
        facts=review.facts,
        profile=review.profile,
    )
    _tell_forced(judged, review)
    return Defaulted(review, judged, view, edits(judged))
