"""Asks the rules and defaults about one write. Each reads one version; findings and edits come back in the version that its author wrote.

Cost: a v1beta1 object is read as it is, a v1alpha1 object is converted once. Rules in `policies/v1alpha1` read the written object alone.
"""

from typing import Final, NamedTuple

from ..api.kinds import BETA, BY_NAME
from ..conversion.bounds import require_whole
from ..conversion.lens.protocol import ConversionError
from ..policies.domain import INTER_POD, INTRA_POD
from ..policies.edit import Edit, PatchOperation, apply, to_json_patch
from ..policies.evaluate import compute_edits, evaluate, idle, is_deletion, place
from ..policies.finding import Finding
from ..policies.review import DELETE, Fields, Review
from .registration import Purpose, read_as
from .version_view import VersionView

_FAILOVER: Final = "failover-"
_GRAPH: Final = f"DynamoGraphDeployment/{BETA}"


class OldError(ConversionError):
    """The stored object of an update can't be converted to the version that rules read."""


def judge(review: Review, most: int | None = None, named: int | None = None) -> list[Finding]:
    """The findings of all rules about a review in the author's version.

    `most` limits the findings, and `named` how many errors, and how many others, are translated to the author's version.

    Raises: ConversionError if the object, OldError if the stored object can't be converted to the version that rules read.
    """
    kind = review.kind.partition("/")[0]
    read = read_as(kind, Purpose.VALIDATE)
    if not read or review.operation == DELETE:
        return []
    if is_deletion(review):  # without its spec, whose conversion must keep no finalizer
        old = None if review.old is None else {"metadata": review.old.get("metadata")}
        return evaluate(review.across(f"{kind}/{read}", {"metadata": review.metadata}, old), most)
    _require_whole(review)
    judged, view = _cross(review, read)
    if view is None:
        return evaluate(judged, most)
    found, more = evaluate(review, most), evaluate(judged, most)
    if not more:
        return found
    told = view.findings(_without_unknown_modes(more, review), judged.object, review.object, named)
    return sorted((*found, *told), key=place)


def _require_whole(review: Review) -> None:
    """Refuses an object that was read in part: writing it would drop the rest. Raises: ConversionError."""
    kind, _, version = review.kind.partition("/")
    if review.metadata.get("labels") and (other := BY_NAME[kind].other(version)):
        require_whole(review.metadata, other)


def _without_unknown_modes(findings: list[Finding], review: Review) -> list[Finding]:
    """Drops what rules of failover say where a v1alpha1 object spells a mode as v1beta1 does: there it is an unknown one."""
    if not any(finding.rule.name.startswith(_FAILOVER) for finding in findings):
        return findings
    services = (review.spec, *(review.spec.get("services") or {}).values())
    if not any(((service or {}).get("failover") or {}).get("mode") in (INTRA_POD, INTER_POD) for service in services):
        return findings
    return [finding for finding in findings if not finding.rule.name.startswith(_FAILOVER)]


def _cross(review: Review, read: str) -> tuple[Review, VersionView | None]:
    """The review in the version that is read, and a view in the author's, None if that is the same. Raises: ConversionError, OldError."""
    kind, _, version = review.kind.partition("/")
    if read == version:
        return _align_stored(review), None
    view = VersionView(kind, version, read, review.line)
    judged = view.judged(review.object)
    try:
        old = None if review.old is None else view.judged(review.old)
    except ConversionError as error:
        raise OldError(error.path, error.reason) from None
    return _align_stored(review.across(f"{kind}/{read}", judged, old)), view


def _align_stored(review: Review) -> Review:
    """The review with the stored components of a graph in the order of the new ones, since rules and ratcheting compare by place."""
    if review.kind != _GRAPH or review.old is None:
        return review
    stored = _components(review.old)
    names = [each.get("name") for each in _components(review.object)]
    if not stored or names == [each.get("name") for each in stored]:
        return review
    by_name = {each.get("name"): each for each in stored}
    components = [*(by_name.pop(name, None) for name in names), *by_name.values()]
    return review.with_old({**review.old, "spec": {**review.old["spec"], "components": components}})


def _components(obj: Fields) -> list[Fields]:
    """A graph's components, null ones as empty."""
    listed = (obj.get("spec") or {}).get("components")
    return [each if isinstance(each, dict) else {} for each in listed] if isinstance(listed, list) else []


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
            return to_json_patch(self.review.object, chosen)
        return self.view.patch(self.review.object, self.judged.object, chosen)

    def idle(self) -> list[Finding]:
        """Defaults that could not be evaluated, because of a missing fact or an internal error, with the author's field paths."""
        if self.judged is None:
            return []
        found = idle(self.judged)
        return self.view.findings(found, self.judged.object, self.review.object) if self.view and found else found


def compute_defaults(review: Review) -> Defaulted:
    """The defaults of a review whose object has the schema's. Raises: ConversionError if they read a version that can't represent it."""
    read = read_as(review.kind.partition("/")[0], Purpose.MUTATE)
    if not read or review.operation == DELETE or review.facts.excludes(review.metadata.get("namespace")):
        return Defaulted(review, None, None, [])
    judged, view = _cross(review, read)
    return Defaulted(review, judged, view, compute_edits(judged))
