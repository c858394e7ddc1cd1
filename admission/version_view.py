"""An object in the version that rules read, and findings and patches about it in the version that its author wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamo_webhooks.api.line import USUAL, Line
from dynamo_webhooks.api.paths import MISSING, Key, lookup, render
from dynamo_webhooks.conversion.difference import differences
from dynamo_webhooks.conversion.engine import convert, viewed
from dynamo_webhooks.conversion.kinds import kind_of
from dynamo_webhooks.conversion.remainder import reserved
from dynamo_webhooks.conversion.translate import Translation
from dynamo_webhooks.policies.answer import MESSAGE_LENGTH, REFUSING
from dynamo_webhooks.policies.edit import apply, pointer

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.policies.edit import Edit, PatchOperation
    from dynamo_webhooks.policies.finding import Finding
    from dynamo_webhooks.policies.review import Fields


class VersionView:
    """One kind between the author's version and the one that is read there; what is too long is refused elsewhere, and never left out."""

    __slots__ = ("author", "kind", "read")

    def __init__(self, kind: str, author: str, read: str, line: Line = USUAL) -> None:
        """Versions are bare: `v1beta1`."""
        self.kind = kind_of(kind, line)
        self.author = author
        self.read = read

    def judged(self, obj: Fields) -> Fields:
        """What the object says in the version that is read, for rules alone.

        Raises: ConversionError where that version can't say it; its path is the author's.
        """
        return viewed(self.kind, obj, self.read)

    def findings(self, findings: list[Finding], judged: Fields, written: Fields, most: int | None = None) -> list[Finding]:
        """Findings about `judged` as findings about what the author wrote: paths and words.

        `most` is how many errors, and how many others, are going to be named: the rest stays as it is.
        """
        translation = Translation(self.kind, judged, self.author, written)
        told: list[Finding] = []
        left = {True: most, False: most}
        for finding in findings:
            refuses = finding.level in REFUSING
            count = left[refuses]
            told.append(finding if count == 0 else self._finding(finding, translation, judged, written))
            left[refuses] = None if count is None else max(count - 1, 0)
        return told

    def _finding(self, finding: Finding, translation: Translation, judged: Fields, written: Fields) -> Finding:
        place = translation.of(finding.path)
        said = in_version(finding, self.author)
        if place.exact:
            return said._replace(path=place.path)
        # the author's version has no such field, so the sentence begins with the field's name and version
        text = f"{render(finding.path, MESSAGE_LENGTH)} of {self.read} {finding.text}"
        return said._replace(path=self._remembered(finding.path, translation, judged, written) or place.path, text=text)

    def _remembered(self, path: Path, translation: Translation, judged: Fields, written: Fields) -> Path | None:
        """The annotation that a block comes from which the author's version has no field for."""
        key = self.kind.spec_key
        if key not in ((written.get("metadata") or {}).get("annotations") or {}):
            return None
        for length in range(len(path), 1, -1):
            block = path[:length]
            if translation.of(block).exact:
                return None
            if lookup(judged, block) is not MISSING:
                return ("metadata", "annotations", Key(key))
        return None

    def changed(self, written: Fields, edits: list[Edit]) -> Fields:
        """The author's object with edits of the judged one applied."""
        whole: Fields = _completed(written, convert(self.kind, apply(self._whole(written), edits), self.author, whole=True).object)
        return whole

    def _whole(self, written: Fields) -> Fields:
        """The object in the version that is read, with all that brings it back to the author's."""
        return convert(self.kind, written, self.read, whole=True).object

    def patch(self, written: Fields, edits: list[Edit]) -> list[PatchOperation]:
        """The smallest patch of what the author wrote that has the effect of edits of the judged object, and no other.

        What conversion keeps in annotations is patched only where the effect would not come about without it.
        """
        judged = self._whole(written)
        before, wanted = convert(self.kind, judged, self.author, whole=True).object, apply(judged, edits)
        after = convert(self.kind, wanted, self.author, whole=True).object
        lean = self._with_annotations_of(before, after)
        for enough in (_completed(before, lean), lean):
            said = viewed(self.kind, enough, self.read)
            if all(said.get(part) == wanted.get(part) for part in ("spec", "status")):
                return difference(_present(before, written, enough), enough)
        return difference(_present(before, written, after), after)

    def _with_annotations_of(self, before: Fields, after: Fields) -> Fields:
        """`after` with the reserved annotations that `before` has."""
        ours = reserved(self.kind)
        had = (before.get("metadata") or {}).get("annotations") or {}
        has = (after.get("metadata") or {}).get("annotations") or {}
        annotations = {key: value for key, value in has.items() if key not in ours}
        annotations |= {key: value for key, value in had.items() if key in ours}
        metadata = {name: value for name, value in after["metadata"].items() if name != "annotations"}
        return {
            **after,
            "metadata": {**metadata, **({"annotations": annotations} if annotations or "annotations" in after["metadata"] else {})},
        }


def in_version(finding: Finding, version: str) -> Finding:
    """The finding in the words of the version that its rule doesn't read; path and level stay."""
    fix = finding.other_fix or finding.fix or finding.rule.fix_in(version)
    return finding._replace(text=finding.other_text or finding.text, fix=fix)


def _present(before: Fields, written: Fields, after: Fields) -> Fields:
    """`before` without the parts that conversion made where none or null was written: a patch can add a part, and nothing below it."""
    return {name: value for name, value in before.items() if written.get(name) is not None or after.get(name) == value}


def _completed(before: Any, after: Any) -> Any:
    """`after` with what only `before` has: an empty list that means nothing need not go because something beside it is set.

    Nor does a null entry of a list go, which the other version can't say: that is for the schema to refuse, not for a patch to hide.
    """
    if type(before) is list and type(after) is list and None in before and len(after) == len(before) - before.count(None):
        rest = iter(after)
        return [None if entry is None else _completed(entry, next(rest)) for entry in before]
    if type(before) is not dict or type(after) is not dict:
        return after
    return {**before, **{key: _completed(before[key], value) if key in before else value for key, value in after.items()}}


def difference(before: Any, after: Any) -> list[PatchOperation]:
    """The RFC 6902 operations that make one value of another; maps and lists of equal length are compared entry by entry."""
    return [_operation(before, path, value) for path, *value in differences(before, after)]


def _operation(before: Any, path: list[Any], value: list[Any]) -> PatchOperation:
    if not value:
        return {"op": "remove", "path": pointer(tuple(path))}
    # adding to where null stands replaces it, and says better what happens
    absent = lookup(before, tuple(path)) in (MISSING, None)
    return {"op": "add" if absent else "replace", "path": pointer(tuple(path)), "value": value[0]}
