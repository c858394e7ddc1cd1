"""Compares the pairs: the form of both sides, the differences, and what the policies say of the update."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final, NamedTuple

from api.paths import MISSING, Key, lookup
from api.schema import load_schema
from cli.check.old import Old
from cli.check.pipeline import Settings, check_object
from cli.diff.compare import Change, compare
from cli.diff.form import Asked, FormError, bare, complete, in_version, other_version
from cli.yaml.load import InputError
from conversion.difference import identical
from conversion.kinds import KINDS
from conversion.translate import translated
from policies.review import UPDATE

if TYPE_CHECKING:
    from api.paths import Path
    from cli.check.objects import Found
    from cli.check.record import Reported
    from cli.diff.pairs import Pair
    from policies.review import Fields

ADDED: Final = "added"
REMOVED: Final = "removed"
CHANGED: Final = "changed"
EQUAL: Final = "equal"
FAILED: Final = "failed"


class Difference(NamedTuple):
    """A change, with the version in whose fields it is said."""

    change: Change
    version: str


class Compared(NamedTuple):
    """What became of one object."""

    pair: Pair
    what: str  # added, removed, changed, equal or failed
    version: str = ""  # in which the two were compared
    differences: list[Difference] = []  # noqa: RUF012 - a tuple's default is never changed
    spelling: list[Difference] = []  # noqa: RUF012 - as above
    rewritten: bool = False  # the two are written differently, though nothing differs
    findings: list[Reported] = []  # noqa: RUF012 - as above
    failure: str = ""

    @property
    def source(self) -> str:
        """The name of the file that speaks for the object: the new one where there is one."""
        one = self.pair.new or self.pair.old
        return one.document.source.name if one else ""


def compared(pair: Pair, asked: Asked) -> Compared:
    """Compares one pair; an object that can't be is one that failed, with the reason."""
    if pair.old is None or pair.new is None:
        return Compared(pair, ADDED if pair.old is None else REMOVED)
    try:
        return _both(pair, pair.old, pair.new, asked)
    except FormError as error:
        return Compared(pair, FAILED, failure=str(error))


def _both(pair: Pair, old: Found, new: Found, asked: Asked) -> Compared:
    kind = pair.identity.kind
    before = complete(old, asked, None)
    # the namespace that only one side names is the same one: it decided the match
    after = complete(new, asked, in_version(_placed(before, pair), kind, new.version))
    version = asked.to if asked.to and kind in KINDS else new.version
    found = list(_differences(_placed(before, pair), _placed(after, pair), kind, version))
    real = [one for one in found if not one.change.spelling]
    rewritten = not real and old.data != new.data
    findings = _findings(old, new, asked) if real else []
    spelt = [one for one in found if one.change.spelling]
    return Compared(pair, CHANGED if real else EQUAL, version, real, spelt, rewritten, findings)


def _placed(obj: Fields, pair: Pair) -> Fields:
    namespace = pair.identity.namespace
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "namespace": namespace}} if namespace else obj


def _differences(before: Fields, after: Fields, kind: str, version: str) -> list[Difference]:
    """The differences in one version, and those that only the kind's other version has fields for.

    What differs in one version and is the same field with the same value in the other is a matter of spelling.
    """
    here = in_version(before, kind, version), in_version(after, kind, version)
    found = [Difference(change, version) for change in _compared(*here, kind, version)]
    other = other_version(kind, version)
    if not other:
        return found
    there = in_version(before, kind, other), in_version(after, kind, other)
    told = [one._replace(change=one.change._replace(spelling=True)) if _is_same(one, kind, here, there, other) else one for one in found]
    return told + [
        Difference(change, other)
        for change in _compared(*there, kind, other)
        if not any(_is_there(_place(change.path, obj, kind, version, said), said) for obj, said in zip(there, here, strict=True))
    ]


def _is_there(place: Path | None, obj: Fields) -> bool:
    """Whether an object has the field at a place; then the comparison in its version has spoken of it."""
    return place is not None and lookup(obj, place) is not MISSING


def _is_same(one: Difference, kind: str, here: tuple[Fields, Fields], there: tuple[Fields, Fields], version: str) -> bool:
    """Whether the other version has the very field, with one value on both sides."""
    places = [_place(one.change.path, obj, kind, version, said) for obj, said in zip(here, there, strict=True)]
    values = [MISSING if place is None else lookup(said, place) for place, said in zip(places, there, strict=True)]
    return MISSING not in values and identical(*values)


def _compared(old: Fields, new: Fields, kind: str, version: str) -> list[Change]:
    return compare(bare(old, kind), bare(new, kind), load_schema(kind, version))


def _place(path: Path, obj: Fields, kind: str, version: str, other: Fields) -> Path | None:
    """Where another version has the field; None where it has none. Metadata is one and the same."""
    place = translated(KINDS[kind], _by_index(path, obj), obj, version, other)
    return place.path if place.exact else None


def _by_index(path: Path, obj: object) -> Path:
    """A path by keys of lists as one by their indices, as far as the object goes."""
    steps: list[str | int] = []
    for step in path:
        if isinstance(obj, list) and isinstance(step, Key):
            index = next((i for i, item in enumerate(obj) if isinstance(item, dict) and item.get("name") == step), None)
            step = step if index is None else index  # noqa: PLW2901 - the same step, by its other name
        steps.append(step)
        if isinstance(obj, list):
            obj = obj[step] if isinstance(step, int) and step < len(obj) else None
        else:
            obj = obj.get(step) if isinstance(obj, dict) else None
    return tuple(steps)


def _findings(old: Found, new: Found, asked: Asked) -> list[Reported]:
    """What `check` says of the update. Both objects' data are changed on the way."""
    was = Old([old._replace(identity=new.identity)]).of(new)
    if isinstance(was, InputError):
        raise FormError(was.text)
    settings = Settings(asked.facts, asked.profile, asked.user)
    outcome = check_object(new, UPDATE, copy.deepcopy(was), settings)
    return sorted(outcome.findings, key=lambda finding: finding.order)
