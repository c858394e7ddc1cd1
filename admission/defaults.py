"""Computes the defaults of one object in the version that they read, and what they change in the author's."""

from __future__ import annotations

from typing import NamedTuple

from ..policies.edit import Edit, PatchOperation, apply
from ..policies.edit import to_json_patch as patch
from ..policies.evaluate import compute_edits, idle
from ..policies.finding import Finding
from ..policies.review import DELETE, Fields, Review
from .judging import align_stored
from .registration import Purpose, read_as
from .version_view import VersionView


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
        return self.view.changed(self.review.object, self.judged.object, self.edits)

    def patch(self, chosen: list[Edit] | None = None) -> list[PatchOperation]:
        """The server's patch of the author's object, for all edits or for those given."""
        chosen = self.edits if chosen is None else chosen
        if not chosen or self.judged is None:
            return []
        if self.view is None:
            return patch(self.review.object, chosen)
        return self.view.patch(self.review.object, self.judged.object, chosen)

    def idle(self) -> list[Finding]:
        """Defaults that could not be evaluated, because of a missing fact or an internal error, with the author's field paths."""
        if self.judged is None:
            return []
        found = idle(self.judged)
        return self.view.findings(found, self.judged.object, self.review.object) if self.view and found else found


def compute_defaults(review: Review) -> Defaulted:
    """Evaluates the defaults of a review, whose object has the schema's defaults.

    Raises: ConversionError if the defaults read the other version, which can't represent the object.
    """
    kind, _, version = review.kind.partition("/")
    read = read_as(kind, Purpose.MUTATE)
    if not read or review.operation == DELETE or review.facts.excludes(review.metadata.get("namespace")):
        return Defaulted(review, None, None, [])
    if read == version:
        judged = align_stored(review)
        return Defaulted(review, judged, None, compute_edits(judged))
    from .version_view import VersionView

    view = VersionView(kind, version, read, review.line)
    old = None if review.old is None else view.judged(review.old)
    judged = align_stored(review.across(f"{kind}/{read}", view.judged(review.object), old))
    return Defaulted(review, judged, view, compute_edits(judged))
