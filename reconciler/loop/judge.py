"""What admission would say of an object that is already there: it may have been written while no webhook was asked."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.kinds import BETA
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.reconciler.loop.keys import uid_of
from dynamo_webhooks.reconciler.loop.likeness import fingerprint

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.policies.facts import Facts
    from dynamo_webhooks.policies.finding import Finding

REMEMBERED: Final = 5000  # objects; judging one again costs a millisecond or so
LISTED: Final = 5  # findings that the message names


class Judge:
    """Judges an object once until something in it, or a fact, is another."""

    def __init__(self) -> None:
        """Has judged nothing yet."""
        self._known: OrderedDict[tuple[str, str], tuple[Facts, str]] = OrderedDict()  # (uid, what is judged) -> (by which facts, verdict)

    def refusal(self, obj: Node, facts: Facts) -> str:
        """Why admission would refuse the object; empty when it would not."""
        key = (uid_of(obj), fingerprint(obj))
        known = self._known.get(key)
        if known is not None and known[0] == facts:
            return known[1]
        verdict = judged(obj, facts)
        self._known[key] = (facts, verdict)
        self._known.move_to_end(key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return verdict


def judged(obj: Node, facts: Facts) -> str:
    """Why admission would refuse a v1beta1 object; empty when it would not.

    What only a user, or a fact that nobody supplied, could decide is not held against it.
    """
    write = Admission(str(obj["kind"]), BETA, CREATE, obj, user="", settings=Settings(facts))
    if wrong := write.decode():
        return f"{render(wrong[0].path)}: {wrong[0].message}"
    try:
        texts = [_sentence(one) for one in write.judge() if one.level is Level.ERROR]
    except ConversionError as error:
        return f"{render(error.path)}: {error.reason}"
    more = f"; and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return "; ".join(dict.fromkeys(texts[:LISTED])) + more


def _sentence(finding: Finding) -> str:
    return f"{render(finding.path)}: {finding.text} [{finding.rule.code}]"
