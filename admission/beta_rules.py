"""The rules of line 1.5 that read v1beta1, for the fields that v1alpha1 has no form for; all others read the version of registration.

Cost: a v1beta1 object is read as it is. A v1alpha1 object is converted only if a conversion may have left such a field in its annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.policies.domain import forces_scaling_group
from dynamo_webhooks.policies.evaluate import evaluate, place
from dynamo_webhooks.policies.review import Review

if TYPE_CHECKING:
    from dynamo_webhooks.admission.version_view import VersionView
    from dynamo_webhooks.policies.finding import Finding
    from dynamo_webhooks.policies.review import Fields

_GRAPH: Final = "DynamoGraphDeployment"
KINDS: Final = (_GRAPH, "DynamoComponentDeployment")
_FIELDS: Final = ("forceScalingGroup", "frontendSidecar")
_REMAINDERS: Final = ("-spec", "-status")  # what the names of annotations end with that conversion leaves
_ESCAPE: Final = "\\u"  # of JSON: any letter may be written so


class BetaRules:
    """One write in v1beta1, as far as rules ask for it there: `review` is None where none would."""

    __slots__ = ("_view", "_written", "review")

    def __init__(self, asked: Review) -> None:
        """`asked` is in the author's version, and on line 1.5. Raises: ConversionError if an object that must be converted can't be."""
        self._view: VersionView | None = None
        self._written = asked.object
        self.review: Review | None = None
        kind, _, version = asked.kind.partition("/")
        if kind not in KINDS:
            return
        if version == BETA:
            self.review = _arranged(asked)
        elif version == ALPHA and any(_remembers(kind, obj) for obj in (asked.object, asked.old)):
            self.review = _arranged(self._converted(kind, asked))

    def _converted(self, kind: str, asked: Review) -> Review:
        from dynamo_webhooks.admission.version_view import VersionView

        self._view = view = VersionView(kind, ALPHA, BETA, asked.line)
        old = None if asked.old is None else view.judged(asked.old)
        new = view.judged(asked.object)
        return Review(f"{kind}/{BETA}", asked.operation, new, old, user=asked.user, facts=asked.facts, profile=asked.profile)

    @property
    def forced(self) -> frozenset[str]:
        """The names of a graph's components that ask for a scaling group of their own."""
        if self.review is None:
            return frozenset()
        return frozenset(each.get("name") or "" for each in _components(self.review.kind, self.review.object) if forces_scaling_group(each))

    def added_to(self, found: list[Finding], most: int | None, named: int | None) -> list[Finding]:
        """The findings together with those of the rules that read v1beta1, in the order of all; `most` and `named` as in `judge`."""
        if self.review is None:
            return found
        more = evaluate(self.review, most)
        if not more:
            return found
        if self._view is not None:
            more = self._view.findings(more, self.review.object, self._written, named)
        return sorted((*found, *more), key=place)


def _arranged(review: Review) -> Review:
    """The review with the stored components in the order of the new ones: what an update is forgiven is told by its place."""
    old = review.old or {}
    stored = _components(review.kind, old)
    names = [each.get("name") for each in _components(review.kind, review.object)]
    if not stored or names == [each.get("name") for each in stored]:
        return review
    by_name = {each.get("name"): each for each in stored}
    components = [*(by_name.pop(name, None) for name in names), *by_name.values()]
    old = {**old, "spec": {**old["spec"], "components": components}}
    return Review(review.kind, review.operation, review.object, old, user=review.user, facts=review.facts, profile=review.profile)


def _components(kind: str, obj: Fields) -> list[Fields]:
    """A graph's components, null ones as empty; a component has none, whatever an unknown field of it is called."""
    listed = (obj.get("spec") or {}).get("components") if kind.startswith(_GRAPH) else None
    return [each if isinstance(each, dict) else {} for each in listed] if isinstance(listed, list) else []


def _remembers(kind: str, obj: Fields | None) -> bool:
    """Whether a conversion may have left such a field in the object's annotations: packed and escaped texts may hold one."""
    annotations = {} if obj is None else (obj.get("metadata") or {}).get("annotations") or {}
    if not any(key.endswith(_REMAINDERS) for key in annotations):  # as nearly always; what follows takes long to import
        return False
    from dynamo_webhooks.conversion.bounds import PACKED
    from dynamo_webhooks.conversion.kinds import KINDS as CONVERTED
    from dynamo_webhooks.conversion.remainder import keys

    texts = [annotations.get(key) for key in keys(CONVERTED[kind])]
    return any(isinstance(text, str) and any(mark in text for mark in (*_FIELDS, _ESCAPE, PACKED)) for text in texts)
