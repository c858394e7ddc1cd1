"""Judges what an object keeps in annotations of conversion: by the rules and the schema of the version that has fields for it.

The reconciler acts on these values, even if their author can't write that version. Objects without such an annotation cost a look-up.
"""

from collections.abc import Iterator
from functools import cache
from itertools import chain, islice
from typing import Final, TypeAlias

from ..api.bounds import bounds
from ..api.kinds import ALPHA, BETA
from ..api.paths import Key, Path, format_path
from ..api.schema import load_schema
from ..api.walk.default import without_nulls
from ..api.walk.errors import FieldError, Reason
from ..api.walk.validate import find_errors
from ..conversion.engine import convert_for_reading
from ..conversion.kinds import KINDS, kind_of
from ..conversion.lens.protocol import ConversionError
from ..conversion.remainder import read_remainder, reserved_keys
from ..policies.answer import MAX_MESSAGE_CHARACTERS, REFUSING
from ..policies.checks import KEPT_VALUE
from ..policies.components import find_owning_graph
from ..policies.evaluate import evaluate
from ..policies.finding import Cause, Finding
from ..policies.review import Fields, Review
from ..policies.rule import Level, Rule

_OTHER: Final = {ALPHA: BETA, BETA: ALPHA}
_CAUSES: Final = {Reason.TYPE_INVALID: Cause.INVALID, Reason.TOO_LONG: Cause.INVALID, Reason.TOO_MANY: Cause.INVALID}
_Identity: TypeAlias = tuple[str, Path, str]
_VALUE_PREFIX: Final = "value: "  # what a cause of an API server says before the sentence


def judge_kept_values(review: Review, limit: int | None = None) -> list[Finding]:
    """Findings about values that only the kind's other version has, at the annotation that keeps them.

    An update isn't refused for what its stored object kept and said already. `limit` is as in `evaluate`. An object with as many findings
    is refused for all of them, also for those that it has without the annotation: looking further would cost too much.
    """
    key = _find_key(review)
    if not key or _is_unchanged(review):
        return []
    view = _OtherVersion(review)
    obj = view.convert(review.object)
    if obj is None:
        return []  # it can't be converted, and is refused where that is tried
    old = None if review.old is None else view.convert(review.old)
    findings = [*view.list_broken_rules(obj, old, limit), *view.list_schema_errors(obj, old, limit)]
    own = set() if not findings or (limit and len(findings) >= limit) else view.find_own(obj, {_identify(finding) for finding in findings})
    annotation: Path = ("metadata", "annotations", Key(key))
    return [_move_to_annotation(finding, annotation, view.version) for finding in findings if _identify(finding) not in own]


@cache
def _keys_of_all_kinds() -> frozenset[str]:
    """Most objects have none of these annotations."""
    return frozenset(key for kind in KINDS.values() for key in reserved_keys(kind))


def _is_unchanged(review: Review) -> bool:
    """Whether an update leaves all annotations and the live fields, which decide together what speaks."""
    old = review.old
    return old is not None and old.get("spec") == review.spec and (old.get("metadata") or {}).get("annotations") == review.annotations


def _find_key(review: Review) -> str:
    """The annotation that keeps values of the spec; empty if there is none."""
    annotations = review.annotations
    if _keys_of_all_kinds().isdisjoint(annotations):
        return ""
    name, _, version = review.kind.partition("/")
    if name not in KINDS:
        return ""
    kind = kind_of(name, review.line)
    annotation = next((key for key in reserved_keys(kind) if key != kind.status_key and annotations.get(key)), "")
    if not annotation:
        return ""
    remainder, _ = read_remainder(kind, annotations, version == ALPHA)
    return annotation if remainder.spec or remainder.differences else ""


class _OtherVersion:
    """An object of a review in its kind's other version."""

    __slots__ = ("kind", "name", "review", "version")

    def __init__(self, review: Review) -> None:
        self.review = review
        self.name, _, author = review.kind.partition("/")
        self.kind, self.version = kind_of(self.name, review.line), _OTHER[author]

    def convert(self, obj: Fields) -> Fields | None:
        """An object in the other version; None if that can't say it."""
        try:
            return convert_for_reading(self.kind, obj, self.version)
        except ConversionError:
            return None

    def list_broken_rules(self, obj: Fields, old: Fields | None = None, limit: int | None = None) -> list[Finding]:
        """The findings of rules that read v1alpha1; those of v1beta1 are asked about every object."""
        if self.version != ALPHA:
            return []
        findings = evaluate(self.review.across(f"{self.name}/{self.version}", obj, old), limit)
        return [finding for finding in findings if finding.level in REFUSING]  # advice is for who writes that version

    def list_schema_errors(self, obj: Fields, old: Fields | None = None, limit: int | None = None) -> list[Finding]:
        """Lists what the schema refuses; nothing in a component that is made of a graph, which was judged itself."""
        return [] if find_owning_graph(self.review) is not None else list(islice(self.find_schema_errors(obj, old), limit))

    def find_schema_errors(self, obj: Fields, old: Fields | None = None) -> Iterator[Finding]:
        """Yields them one by one, those of a graph's components, too."""
        return (as_finding(error, KEPT_VALUE) for error in self._find_errors(obj, old))

    def find_own(self, obj: Fields, identities: set[_Identity]) -> set[_Identity]:
        """Those of the findings that the object has without the kept values, too."""
        plain = self.convert(_without(self.review.object, reserved_keys(self.kind)))
        if plain is None:
            return set()
        plain, own = _sort_components(plain, obj), set[_Identity]()
        for finding in chain(self.list_broken_rules(plain), self.find_schema_errors(plain)):
            if (identity := _identify(finding)) in identities:
                own.add(identity)
                if len(own) == len(identities):
                    break
        return own

    def _find_errors(self, obj: Fields, old: Fields | None) -> Iterator[FieldError]:
        excess = bounds(self.name, self.version)
        if (first_error := excess(obj)) is not None:
            if old is None or excess(old) is None:
                yield first_error
            return
        schema = load_schema(self.name, self.version, self.review.line)
        old = None if old is None else without_nulls(old, schema)
        # conversion leaves nulls, which an API server drops
        for error in find_errors(without_nulls(obj, schema), schema, old):
            if error.path[:1] == ("spec",):
                yield error


def as_finding(error: FieldError, rule: Rule) -> Finding:
    """Converts a schema's error to a finding of a rule."""
    _, value, text = error.message.partition(_VALUE_PREFIX)
    cause = _CAUSES.get(error.reason) or Cause(error.reason.value)
    sentence = text if value else error.message
    return Finding(rule, cause, Level.ERROR, error.path, sentence.removeprefix(f"{error.field} in body "))


def _identify(finding: Finding) -> _Identity:
    return finding.rule.code, finding.path, finding.text


def _move_to_annotation(finding: Finding, annotation: Path, version: str) -> Finding:
    colon = ":" if finding.rule is KEPT_VALUE else ""
    text = f"{format_path(finding.path, MAX_MESSAGE_CHARACTERS)} of {version}{colon} {finding.text}"
    return finding._replace(path=annotation, text=text, fix=finding.fix or finding.rule.fix_in(version), value=None, mend=None)


def _sort_components(obj: Fields, other: Fields) -> Fields:
    """The object with its components in the order of the other's, which the annotation knows."""
    listed, wanted = ((each.get("spec") or {}).get("components") for each in (obj, other))
    if not listed or not wanted:
        return obj
    order = {each.get("name"): index for index, each in enumerate(wanted) if each}
    return {
        **obj,
        "spec": {**obj["spec"], "components": sorted(listed, key=lambda each: order.get((each or {}).get("name"), len(order)))},
    }


def _without(obj: Fields, keys: tuple[str, ...]) -> Fields:
    """The object without annotations of these keys."""
    metadata: Fields = obj["metadata"]
    annotations = {key: text for key, text in metadata["annotations"].items() if key not in keys}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}
