"""Compares the pairs: the form of both sides, the differences, and what the policies say of the update."""

import copy
from collections.abc import Sequence
from typing import Final, NamedTuple

from ....conversion.kinds import KINDS
from ....policies.review import UPDATE, Fields
from ...objects.forms import FormError, complete, in_version
from ...objects.manifest import Manifest
from ...objects.stored import Old
from ...validation.finding import LocatedFinding, merge_duplicates
from ...validation.pipeline import Settings, check_object
from ...yaml.load import InputError
from .differences import Difference, differences
from .form import Asked
from .pairs import Pair

ADDED: Final = "added"
REMOVED: Final = "removed"
CHANGED: Final = "changed"
EQUAL: Final = "equal"
FAILED: Final = "failed"


class Compared(NamedTuple):
    """What became of one object."""

    pair: Pair
    what: str  # added, removed, changed, equal or failed
    version: str = ""  # in which the two were compared
    differences: Sequence[Difference] = ()
    spelling: Sequence[Difference] = ()
    rewritten: bool = False  # the two are written differently, though nothing differs
    findings: Sequence[LocatedFinding] = ()
    failure: str = ""


def source_of(pair: Pair) -> str:
    """The name of the file of a pair: the new one if there is one."""
    one = pair.new or pair.old
    return one.document.source.name if one else ""


def compare_pair(pair: Pair, asked: Asked) -> Compared:
    """Compares one pair; an object that can't be is one that failed, with the reason."""
    if pair.old is None or pair.new is None:
        return Compared(pair, ADDED if pair.old is None else REMOVED)
    try:
        return _both(pair, pair.old, pair.new, asked)
    except FormError as error:
        return Compared(pair, FAILED, failure=str(error))


def _both(pair: Pair, old: Manifest, new: Manifest, asked: Asked) -> Compared:
    kind = pair.identity.kind
    before = complete(old, asked.server, None)
    # the namespace that only one side names is the same one: it decided the match
    after = complete(new, asked.server, in_version(_placed(before, pair), new.version, asked.server.line))
    version = asked.to if asked.to and kind in KINDS else new.version
    found = differences(_placed(before, pair), _placed(after, pair), kind, version, asked.server.line)
    real = [one for one in found if not one.change.spelling]
    rewritten = not real and old.data != new.data
    findings = _findings(old, new, asked) if real else ()
    spelt = [one for one in found if one.change.spelling]
    return Compared(pair, CHANGED if real else EQUAL, version, real, spelt, rewritten, findings)


def _placed(obj: Fields, pair: Pair) -> Fields:
    namespace = pair.identity.namespace
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "namespace": namespace}} if namespace else obj


def _findings(old: Manifest, new: Manifest, asked: Asked) -> list[LocatedFinding]:
    """What `check` says of the update. Both objects' data are changed on the way."""
    was = Old([old._replace(identity=new.identity)]).of(new, asked.server.line)
    if isinstance(was, InputError):
        raise FormError(was.text)
    outcome = check_object(new, UPDATE, copy.deepcopy(was), Settings(*asked.server))
    return merge_duplicates(sorted(outcome.findings, key=lambda finding: finding.order))
