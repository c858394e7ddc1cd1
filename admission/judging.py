"""Asks the rules about one write. Each rule reads one version; findings come back in the version that its author wrote.

Cost: a v1beta1 object is read as it is, a v1alpha1 object is converted once. Rules in `policies/v1alpha1` read the written object alone.
"""

from __future__ import annotations

from typing import Final

from ..api.kinds import BETA, BY_NAME
from ..conversion.lens.protocol import ConversionError
from ..policies.domain import INTER_POD, INTRA_POD
from ..policies.evaluate import evaluate, is_deletion, place
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
    kind, _, version = review.kind.partition("/")
    read = read_as(kind, Purpose.VALIDATE)
    if not read or review.operation == DELETE:
        return []
    if is_deletion(review):  # without its spec, whose conversion must keep no finalizer
        old = None if review.old is None else {"metadata": review.old.get("metadata")}
        return evaluate(review.across(f"{kind}/{read}", {"metadata": review.metadata}, old), most)
    _require_whole(review)
    if read == version:
        return evaluate(align_stored(review), most)
    from .version_view import VersionView

    view = VersionView(kind, version, read, review.line)
    judged = _cross(review, view)
    found, more = evaluate(review, most), evaluate(judged, most)
    if not more:
        return found
    told = view.findings(_without_unknown_modes(more, review), judged.object, review.object, named)
    return sorted((*found, *told), key=place)


def _require_whole(review: Review) -> None:
    """Refuses an object that was read in part: writing it would drop the rest. Raises: ConversionError."""
    kind, _, version = review.kind.partition("/")
    if review.metadata.get("labels") and (other := BY_NAME[kind].other(version)):
        from ..conversion.bounds import require_whole

        require_whole(review.metadata, other)


def _without_unknown_modes(findings: list[Finding], review: Review) -> list[Finding]:
    """Drops what rules of failover say where a v1alpha1 object spells a mode as v1beta1 does: there it is an unknown one."""
    if not any(finding.rule.name.startswith(_FAILOVER) for finding in findings):
        return findings
    services = (review.spec, *(review.spec.get("services") or {}).values())
    if not any(((service or {}).get("failover") or {}).get("mode") in (INTRA_POD, INTER_POD) for service in services):
        return findings
    return [finding for finding in findings if not finding.rule.name.startswith(_FAILOVER)]


def _cross(review: Review, view: VersionView) -> Review:
    """The review in the version that rules read.

    Raises: ConversionError if the object, OldError if the stored object can't be converted.
    """
    judged = view.judged(review.object)
    try:
        old = None if review.old is None else view.judged(review.old)
    except ConversionError as error:
        raise OldError(error.path, error.reason) from None
    return align_stored(review.across(f"{view.kind.name}/{view.read}", judged, old))


def align_stored(review: Review) -> Review:
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
