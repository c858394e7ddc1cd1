"""What our defaults change in one object: in its version or, where they read the other one, in its conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.admission.registration import Purpose, read_as
from dynamo_webhooks.policies.edit import apply, patch
from dynamo_webhooks.policies.evaluate import edits, idle
from dynamo_webhooks.policies.review import CURRENT, DELETE, Review

if TYPE_CHECKING:
    from dynamo_webhooks.admission.version_view import VersionView
    from dynamo_webhooks.policies.edit import Edit, PatchOperation
    from dynamo_webhooks.policies.finding import Finding
    from dynamo_webhooks.policies.review import Fields


class Defaulted(NamedTuple):
    """The defaults of one object; `judged` is the review in the version that they read, None where they are not asked at all."""

    review: Review
    judged: Review | None
    view: VersionView | None  # None where the versions are the same
    edits: list[Edit]  # in the version that is read

    @property
    def object(self) -> Fields:
        """The author's object with the edits applied; the very same one where there are none."""
        if not self.edits or self.judged is None:
            return self.review.object
        if self.view is None:
            return apply(self.review.object, self.edits)
        return self.view.changed(self.review.object, self.edits)

    def patch(self, chosen: list[Edit] | None = None) -> list[PatchOperation]:
        """The server's patch of the author's object; of some of the edits where the effect of one default is asked for."""
        chosen = self.edits if chosen is None else chosen
        if not chosen or self.judged is None:
            return []
        if self.view is None:
            return patch(self.review.object, chosen)
        return self.view.patch(self.review.object, chosen)

    def idle(self) -> list[Finding]:
        """Defaults that could not be asked, for want of a fact or by a fault of ours; in the author's fields."""
        if self.judged is None:
            return []
        found = idle(self.judged)
        return self.view.findings(found, self.judged.object, self.review.object) if self.view and found else found


def defaulted(review: Review) -> Defaulted:
    """Asks the defaults; the review holds the object as the API server sends it, with the schema's defaults.

    Raises: ConversionError where the defaults read another version than the author's and that can't say it.
    """
    kind, _, version = review.kind.partition("/")
    read = read_as(kind, Purpose.MUTATE)
    if not read or review.operation == DELETE or (review.profile == CURRENT and review.facts.excludes(review.metadata.get("namespace"))):
        return Defaulted(review, None, None, [])
    if read == version:
        return Defaulted(review, review, None, edits(review))
    from dynamo_webhooks.admission.version_view import VersionView

    view = VersionView(kind, version, read)
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
    return Defaulted(review, judged, view, edits(judged))
