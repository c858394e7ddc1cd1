"""Compares the pairs: the form of both sides, the differences, and what the policies say of the update."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.cli.check.old import Old
from dynamo_webhooks.cli.check.pipeline import Settings, check_object
from dynamo_webhooks.cli.diff.differences import differences
from dynamo_webhooks.cli.diff.form import Asked, FormError, complete, in_version
from dynamo_webhooks.cli.yaml.load import InputError
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.policies.review import UPDATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynamo_webhooks.cli.check.objects import Found
    from dynamo_webhooks.cli.check.record import Reported
    from dynamo_webhooks.cli.diff.differences import Difference
    from dynamo_webhooks.cli.diff.pairs import Pair
    from dynamo_webhooks.policies.review import Fields

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
    findings: Sequence[Reported] = ()
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
    after = complete(new, asked, in_version(_placed(before, pair), kind, new.version, asked.line))
    version = asked.to if asked.to and kind in KINDS else new.version
    found = differences(_placed(before, pair), _placed(after, pair), kind, version, asked.line)
    real = [one for one in found if not one.change.spelling]
    rewritten = not real and old.data != new.data
    findings = _findings(old, new, asked) if real else ()
    spelt = [one for one in found if one.change.spelling]
    return Compared(pair, CHANGED if real else EQUAL, version, real, spelt, rewritten, findings)


def _placed(obj: Fields, pair: Pair) -> Fields:
    namespace = pair.identity.namespace
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "namespace": namespace}} if namespace else obj


def _findings(old: Found, new: Found, asked: Asked) -> list[Reported]:
    """What `check` says of the update. Both objects' data are changed on the way."""
    was = Old([old._replace(identity=new.identity)]).of(new, asked.line)
    if isinstance(was, InputError):
        raise FormError(was.text)
    settings = Settings(asked.facts, asked.profile, asked.user)
    outcome = check_object(new, UPDATE, copy.deepcopy(was), settings)
    return sorted(outcome.findings, key=lambda finding: finding.order)
