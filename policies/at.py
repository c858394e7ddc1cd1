"""Arguments of a rule: one place of one object, its old value, the facts, and makers of typed findings."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..api.paths import MISSING, Path, lookup
from .components import find_main, list_components
from .finding import Cause, Edit, Finding, Mend, Scalar
from .review import Fields, Review
from .rule import Level, Rule
from .words import Text, VersionText, format_words

Findings = Iterator[Finding]


@lru_cache(maxsize=4096)
def _steps(rel: str) -> Path:
    return tuple(rel.split(".")) if rel else ()


class At:
    """One place in a review: the `value` that the rule's selector matched, and its `path`. Relative paths start here.

    A relative path is dotted text ("failover.mode"), or a tuple where a map key or an index is in it: ("pvcs", 0, "name"),
    ("annotations", Key("nvidia.com/x")). "" is the place itself.
    """

    __slots__ = ("_components", "_last", "_main", "_old", "_path", "_steps", "review", "rule", "value")

    _old: Any
    rule: Rule  # set by the evaluator before each call: one place serves all rules that look at it

    def __init__(self, review: Review, steps: Path, last: str | int | None, value: Any) -> None:
        """Only the evaluator creates places; `last` is the map key or index behind the steps, None where there is none."""
        self.review = review
        self.value = value
        self._steps = steps
        self._last = last
        self._path: Path | None = None
        self._main: tuple[Fields, Path] | None = None
        self._components: list[tuple[int, str, Fields]] | None = None

    @property
    def path(self) -> Path:
        """The path of the place; computed on first use, since most places have no finding."""
        path = self._path
        if path is None:
            last = self._last
            path = self._steps if last is None else (*self._steps, self.review.key(last) if isinstance(last, str) else last)
            self._path = path
        return path

    @property
    def name(self) -> str:
        """The last step of the path: the service's name for `spec.services.*`."""
        return str(path[-1]) if (path := self.path) else ""

    @property
    def old(self) -> Any:
        """The value at the same place in the old object; None when there is no old object, or nothing there."""
        try:
            return self._old
        except AttributeError:  # first use; on updates half a dozen rules read the same place
            self._old = self._stored()
            return self._old

    @property
    def main(self) -> tuple[Fields, Path]:
        """A component's main container, and its place below the component; several rules read it."""
        main = self._main
        if main is None:
            main = self._main = find_main(self.value)
        return main

    @property
    def components(self) -> list[tuple[int, str, Fields]]:
        """Components of a graph's spec with their place and name; null ones are left out. Several rules read them."""
        components = self._components
        if components is None:
            components = self._components = list_components(self.value)
        return components

    def _stored(self) -> Any:
        if self.review.old is None:
            return None
        value = lookup(self.review.old, self._steps if self._last is None else (*self._steps, self._last))
        return None if value is MISSING else value

    def get(self, rel: str | Path) -> Any:
        """The value below this place; None when it is absent or null."""
        value = lookup(self.value, _steps(rel) if isinstance(rel, str) else rel)
        return None if value is MISSING else value

    def was(self, rel: str) -> Any:
        """The value below this place in the old object; None when it was absent or null, or there is no old object."""
        value = lookup(self.old, _steps(rel))
        return None if value is MISSING else value

    def fact(self, name: str) -> Any:
        """A fact that must be known. Read it last, when all other conditions of a finding hold: an unknown fact ends the rule.

        Raises: UnknownFactError, which the evaluator turns into a not-evaluated finding.
        """
        return self.review.facts.need(name)

    def _finding(self, cause: Cause, rel: str | Path, text: Text, value: Scalar, fix: Text, mend: Mend | None = None) -> Finding:
        path = self.path + (_steps(rel) if isinstance(rel, str) else rel)
        if type(text) is str and type(fix) is str:
            return Finding(self.rule, cause, self.rule.level, path, text, value, fix, "", "", "", mend)
        other_text = other_fix = ""
        read = self.review.kind.rpartition("/")[2]
        if isinstance(text, VersionText):
            text, other_text = text.both(read)
        if isinstance(fix, VersionText):
            fix, other_fix = fix.both(read)
        return Finding(self.rule, cause, self.rule.level, path, text, value, fix, "", other_text, other_fix, mend)

    def required(self, rel: str | Path, text: Text, *, fix: Text = "") -> Finding:
        """A required value is absent or empty."""
        return self._finding(Cause.REQUIRED, rel, text, None, fix)

    def invalid(self, rel: str | Path, value: Scalar, text: Text, *, fix: Text = "", mend: Mend | None = None) -> Finding:
        """An invalid value; `value` is the scalar, or None for a whole block."""
        return self._finding(Cause.INVALID, rel, text, value, fix, mend)

    def forbidden(self, rel: str | Path, text: Text, *, fix: Text = "") -> Finding:
        """A value must be absent, or must not be combined with another."""
        return self._finding(Cause.FORBIDDEN, rel, text, None, fix)

    def not_supported(
        self, rel: str | Path, value: Scalar, allowed: tuple[str, ...], *, fix: Text = "", mend: Mend | None = None
    ) -> Finding:
        """A value out of a closed list, whose entries may be references such as "{intraPod}"."""
        seen = f'got "{value}"' if isinstance(value, str) else f"got {value}"
        wanted = ", ".join(f'"{item}"' for item in allowed)
        return self._finding(Cause.NOT_SUPPORTED, rel, format_words(f"must be one of {wanted}, {{seen}}", seen=seen), value, fix, mend)

    def duplicate(self, rel: str | Path, value: Scalar, text: Text, *, fix: Text = "") -> Finding:
        """A duplicate value."""
        return self._finding(Cause.DUPLICATE, rel, text, value, fix)

    def not_found(self, rel: str | Path, value: Scalar, text: Text, *, fix: Text = "", mend: Mend | None = None) -> Finding:
        """A name of something that doesn't exist."""
        return self._finding(Cause.NOT_FOUND, rel, text, value, fix, mend)

    def immutable(self, rel: str | Path, text: Text, *, value: Scalar = None, fix: Text = "") -> Finding:
        """A field that an update must leave as it was."""
        return self._finding(Cause.INVALID, rel, text, value, fix)

    def set(self, rel: str | Path, value: Any) -> Edit:
        """The edit that a default yields: sets the field below this place. The patch creates missing parents."""
        return Edit(self.rule, self.path + (_steps(rel) if isinstance(rel, str) else rel), value)

    def warning(self, rel: str | Path, text: Text, *, fix: Text = "", mend: Mend | None = None) -> Finding:
        """The finding of a rule of level warning."""
        return self._finding(Cause.INVALID, rel, text, None, fix, mend)


def make_fault(rule: Rule, path: Path, error: BaseException) -> Finding:
    """The finding of a rule that raised; its text names the error's type only, never a value."""
    text = f"couldn't be evaluated: rule {rule.name} failed with {type(error).__name__}; this is an internal error"
    return Finding(rule, Cause.INTERNAL, Level.FAULT, path, text)


def report_unevaluated(rule: Rule, path: Path, fact: str) -> Finding:
    """The finding of a rule that needs an unknown fact."""
    text = f"couldn't be evaluated: the fact {fact} is not known"
    return Finding(rule, Cause.FORBIDDEN, Level.NOT_EVALUATED, path, text, None, f"supply {fact} in the facts", fact)
