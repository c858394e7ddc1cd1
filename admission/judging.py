"""Asks the rules and defaults about one write. Each reads one version; findings and edits come back in the version that its author wrote.

Cost: a v1beta1 object is read as it is, a v1alpha1 object is converted once. Rules in `policies/v1alpha1` read the written object alone.
"""

from typing import Any, Final, NamedTuple

from ..api.kinds import ALPHA, BETA, BY_NAME
from ..api.line import Line
from ..api.paths import MISSING, Key, Path, format_path, lookup
from ..conversion.bounds import require_whole
from ..conversion.difference import find_differences
from ..conversion.engine import convert, convert_for_reading
from ..conversion.kinds import kind_of
from ..conversion.lens.protocol import ConversionError
from ..conversion.remainder import reserved_keys
from ..conversion.translate import Translation, find_copied_path
from ..policies.answer import MAX_MESSAGE_CHARACTERS, REFUSING
from ..policies.components import INTER_POD, INTRA_POD
from ..policies.edit import PatchOperation, apply, to_json_patch, to_json_pointer
from ..policies.evaluate import compute_edits, evaluate, is_deletion, list_idle_defaults, sort_key
from ..policies.finding import Edit, Finding
from ..policies.review import DELETE, Fields, Review
from .kept import judge_kept_values
from .registration import MUTATE, VALIDATE, find_rule_version


class VersionView:
    """One kind between the author's version and the one that rules read; a conversion keeps everything, however long."""

    __slots__ = ("author_version", "kind", "rule_version")

    def __init__(self, kind: str, author_version: str, rule_version: str, line: Line) -> None:
        """Versions are bare: `v1beta1`."""
        self.kind = kind_of(kind, line)
        self.author_version = author_version
        self.rule_version = rule_version

    def convert_for_rules(self, obj: Fields, *, pods: bool = True) -> Fields:
        """The object in the version that rules read. Raises: ConversionError where that version can't say it; its path is the author's."""
        return convert_for_reading(self.kind, obj, self.rule_version, pods=pods)

    def translate_findings(self, findings: list[Finding], judged: Fields, written: Fields, limit: int | None = None) -> list[Finding]:
        """Findings about `judged` as findings about what the author wrote: paths and words.

        `limit` is how many errors, and how many others, are going to be named: the rest stays as it is.
        """
        translation = Translation(self.kind, judged, self.author_version, written)
        translated: list[Finding] = []
        left = {True: limit, False: limit}
        for finding in findings:
            refuses = finding.level in REFUSING
            count = left[refuses]
            translated.append(finding if count == 0 else self._translate_finding(finding, translation, judged, written))
            left[refuses] = None if count is None else max(count - 1, 0)
        return translated

    def _translate_finding(self, finding: Finding, translation: Translation, judged: Fields, written: Fields) -> Finding:
        translated = translation.translate(finding.path)
        reworded = reword_finding(finding, self.author_version)
        if translated.exact:
            return reworded._replace(path=translated.path)
        # the author's version has no such field, so the sentence begins with the field's name and version
        text = f"{format_path(finding.path, MAX_MESSAGE_CHARACTERS)} of {self.rule_version} {finding.text}"
        return reworded._replace(path=self._find_annotation(finding.path, translation, judged, written) or translated.path, text=text)

    def _find_annotation(self, path: Path, translation: Translation, judged: Fields, written: Fields) -> Path | None:
        """The annotation that holds a block without a field in the author's version."""
        key = self.kind.spec_key
        if key not in ((written.get("metadata") or {}).get("annotations") or {}):
            return None
        for length in range(len(path), 1, -1):
            block = path[:length]
            if translation.translate(block).exact:
                return None
            if lookup(judged, block) is not MISSING:
                return ("metadata", "annotations", Key(key))
        return None

    def _translate_edits(self, judged: Fields, edits: list[Edit]) -> list[Edit] | None:
        """Edits of `judged` as edits of what the author wrote; None if a field isn't there in his version with the same values."""
        places = [find_copied_path(self.kind, edit.path, judged) for edit in edits]
        own = [Edit(edit.rule, path, edit.value) for edit, path in zip(edits, places, strict=True) if path is not None]
        return own if len(own) == len(edits) else None

    def apply_edits(self, written: Fields, judged: Fields, edits: list[Edit]) -> Fields:
        """The author's object with edits of the judged one applied; converted only if a field isn't the same in both versions."""
        if (own := self._translate_edits(judged, edits)) is not None:
            return apply(written, own)
        whole: Fields = _merge(written, convert(self.kind, apply(self._to_hub(written), edits), self.author_version, whole=True).object)
        return whole

    def _to_hub(self, written: Fields) -> Fields:
        """The object in the version that rules read, with its remainder."""
        return convert(self.kind, written, self.rule_version, whole=True).object

    def patch(self, written: Fields, judged: Fields, edits: list[Edit]) -> list[PatchOperation]:
        """The smallest patch of what the author wrote that has the effect of edits of the judged object, and no other.

        What conversion keeps in annotations is patched only where the effect would not come about without it.
        """
        if (own := self._translate_edits(judged, edits)) is not None:
            return to_json_patch(written, own)
        whole = self._to_hub(written)
        before, wanted = convert(self.kind, whole, self.author_version, whole=True).object, apply(whole, edits)
        after = convert(self.kind, wanted, self.author_version, whole=True).object
        lean = self._with_annotations_of(before, after)
        for enough in (_merge(before, lean), lean):
            converted = convert_for_reading(self.kind, enough, self.rule_version)
            if all(converted.get(part) == wanted.get(part) for part in ("spec", "status")):
                return diff_to_patch(_drop_added_parts(before, written, enough), enough)
        return diff_to_patch(_drop_added_parts(before, written, after), after)

    def _with_annotations_of(self, before: Fields, after: Fields) -> Fields:
        """`after` with the reserved annotations that `before` has."""
        ours = reserved_keys(self.kind)
        had = (before.get("metadata") or {}).get("annotations") or {}
        has = (after.get("metadata") or {}).get("annotations") or {}
        annotations = {key: value for key, value in has.items() if key not in ours}
        annotations |= {key: value for key, value in had.items() if key in ours}
        metadata = {name: value for name, value in after["metadata"].items() if name != "annotations"}
        return {
            **after,
            "metadata": {**metadata, **({"annotations": annotations} if annotations or "annotations" in after["metadata"] else {})},
        }


def reword_finding(finding: Finding, version: str) -> Finding:
    """The finding in the words of the version that its rule doesn't read; path and level stay."""
    fix = finding.other_fix or finding.fix or finding.rule.fix_in(version)
    return finding._replace(text=finding.other_text or finding.text, fix=fix)


def _drop_added_parts(before: Fields, written: Fields, after: Fields) -> Fields:
    """`before` without the parts that conversion made where none or null was written: a patch can add a part, and nothing below it."""
    return {name: value for name, value in before.items() if written.get(name) is not None or after.get(name) == value}


def _merge(before: Any, after: Any) -> Any:
    """`after` with what only `before` has: an empty list that means nothing need not go because something beside it is set.

    Nor does a null entry of a list go, which the other version can't say: that is for the schema to refuse, not for a patch to hide.
    """
    if type(before) is list and type(after) is list and None in before and len(after) == len(before) - before.count(None):
        rest = iter(after)
        return [None if entry is None else _merge(entry, next(rest)) for entry in before]
    if type(before) is not dict or type(after) is not dict:
        return after
    return {**before, **{key: _merge(before[key], value) if key in before else value for key, value in after.items()}}


def diff_to_patch(before: Any, after: Any) -> list[PatchOperation]:
    """The RFC 6902 operations that make one value of another; maps and lists of equal length are compared entry by entry."""
    return [_to_operation(before, path, value) for path, *value in find_differences(before, after)]


def _to_operation(before: Any, path: list[Any], value: list[Any]) -> PatchOperation:
    if not value:
        return {"op": "remove", "path": to_json_pointer(tuple(path))}
    # an addition replaces a null
    absent = lookup(before, tuple(path)) in (MISSING, None)
    return {"op": "add" if absent else "replace", "path": to_json_pointer(tuple(path)), "value": value[0]}


_FAILOVER: Final = "failover-"
_GRAPH: Final = f"DynamoGraphDeployment/{BETA}"
_GRAPH_V1ALPHA1: Final = f"DynamoGraphDeployment/{ALPHA}"


class StoredObjectError(ConversionError):
    """The stored object of an update can't be converted to the version that rules read."""


def judge(review: Review, limit: int | None = None, max_named: int | None = None) -> list[Finding]:
    """The findings of all rules about a review in the author's version.

    `limit` limits the findings, and `max_named` how many errors, and how many others, are translated to the author's version, and how many
    are looked for in what annotations keep.

    Raises: ConversionError if the object, StoredObjectError if the stored object can't be converted to the version that rules read.
    """
    kind, _, version = review.kind.partition("/")
    rule_version = find_rule_version(kind, VALIDATE)
    if not rule_version or review.operation == DELETE:
        return []
    if is_deletion(review):  # without its spec, whose conversion must keep no finalizer
        old = None if review.old is None else {"metadata": review.old.get("metadata")}
        return evaluate(review.across(f"{kind}/{rule_version}", {"metadata": review.metadata}, old), limit)
    if review.metadata.get("labels") and (other := BY_NAME[kind].other(version)):
        require_whole(review.metadata, other)  # an object that was read in part is refused: writing it would drop the rest
    judged, view = _convert_review(review, rule_version)
    kept = judge_kept_values(review, max_named) if review.annotations else []
    if view is None:
        findings, translated = evaluate(judged, limit), []
    else:
        findings, more = evaluate(review, limit), evaluate(judged, limit)
        translated = view.translate_findings(_without_unknown_modes(more, review), judged.object, review.object, max_named) if more else []
    return sorted((*findings, *translated, *kept), key=sort_key) if translated or kept else findings


def _without_unknown_modes(findings: list[Finding], review: Review) -> list[Finding]:
    """Drops what rules of failover say where a v1alpha1 object spells a mode as v1beta1 does: there it is an unknown one."""
    if not any(finding.rule.name.startswith(_FAILOVER) for finding in findings):
        return findings
    # a field that the kind doesn't have may hold anything: only an API server drops it
    services = (review.spec.get("services") or {}).values() if review.kind == _GRAPH_V1ALPHA1 else (review.spec,)
    if not any(((service or {}).get("failover") or {}).get("mode") in (INTRA_POD, INTER_POD) for service in services):
        return findings
    return [finding for finding in findings if not finding.rule.name.startswith(_FAILOVER)]


def _convert_review(review: Review, rule_version: str, *, pods: bool = True) -> tuple[Review, VersionView | None]:
    """The review in `rule_version`, and a view in the author's, None if that is the same. Raises: ConversionError, StoredObjectError."""
    kind, _, version = review.kind.partition("/")
    if rule_version == version:
        return _align_stored(review), None
    view = VersionView(kind, version, rule_version, review.line)
    judged = view.convert_for_rules(review.object, pods=pods)
    try:
        old = None if review.old is None else view.convert_for_rules(review.old, pods=pods)
    except ConversionError as error:
        raise StoredObjectError(error.path, error.reason) from None
    return _align_stored(review.across(f"{kind}/{rule_version}", judged, old)), view


def _align_stored(review: Review) -> Review:
    """The review with the stored components of a graph in the order of the new ones, since rules and ratcheting compare by place."""
    if review.kind != _GRAPH or review.old is None:
        return review
    stored = _list_components(review.old)
    names = [each.get("name") for each in _list_components(review.object)]
    if not stored or names == [each.get("name") for each in stored]:
        return review
    by_name = {each.get("name"): each for each in stored}
    components = [*(by_name.pop(name, None) for name in names), *by_name.values()]
    return review.with_old({**review.old, "spec": {**review.old["spec"], "components": components}})


def _list_components(obj: Fields) -> list[Fields]:
    """A graph's components, null ones as empty."""
    listed = (obj.get("spec") or {}).get("components")
    return [each if isinstance(each, dict) else {} for each in listed] if isinstance(listed, list) else []


class ObjectDefaults(NamedTuple):
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
        return self.view.apply_edits(self.review.object, self.judged.object, self.edits)

    def patch(self, chosen: list[Edit] | None = None) -> list[PatchOperation]:
        """The server's patch of the author's object, for all edits or for those given."""
        chosen = self.edits if chosen is None else chosen
        if not chosen or self.judged is None:
            return []
        if self.view is None:
            return to_json_patch(self.review.object, chosen)
        return self.view.patch(self.review.object, self.judged.object, chosen)

    def list_idle(self) -> list[Finding]:
        """Defaults that could not be evaluated, because of a missing fact or an internal error, with the author's field paths."""
        if self.judged is None:
            return []
        findings = list_idle_defaults(self.judged)
        return self.view.translate_findings(findings, self.judged.object, self.review.object) if self.view and findings else findings


def compute_defaults(review: Review) -> ObjectDefaults:
    """The defaults of a review whose object has the schema's. No default reads a pod template, so those aren't converted.

    Raises: ConversionError if they read a version that can't represent the object.
    """
    rule_version = find_rule_version(review.kind.partition("/")[0], MUTATE)
    if not rule_version or review.operation == DELETE or review.facts.excludes(review.metadata.get("namespace")):
        return ObjectDefaults(review, None, None, [])
    judged, view = _convert_review(review, rule_version, pods=False)
    return ObjectDefaults(review, judged, view, compute_edits(judged))
