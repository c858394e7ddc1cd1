"""Judges stored objects as admission would: they may have been written without the webhook."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from ...admission.pipeline import Admission, Settings
from ...api.paths import format_path
from ...conversion.lens.protocol import ConversionError
from ...kube.protocol import Node
from ...policies.facts import Facts
from ...policies.finding import Finding, Level
from ...policies.review import CREATE
from ..common.applied_diff import fingerprint
from ..common.keys import uid_of

REMEMBERED: Final = 20_000  # objects, of some 300 bytes; judging one costs about a millisecond
LISTED: Final = 5  # findings in the message


class Judge:
    """Judges an object again only if it or a fact changed."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[str, Facts, str]] = OrderedDict()  # uid -> (content, facts, verdict)

    def refusal(self, obj: Node, facts: Facts) -> str:
        """Why admission would refuse the object, or an empty string."""
        uid, content = uid_of(obj), fingerprint(obj)
        known = self._known.get(uid)
        if known is not None and known[:2] == (content, facts):
            return known[2]
        verdict = check_admission(obj, facts)
        self._known[uid] = (content, facts, verdict)
        self._known.move_to_end(uid)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return verdict


def check_admission(obj: Node, facts: Facts) -> str:
    """Why admission would refuse an object of either version, or an empty string.

    Findings that depend on a user or on an unknown fact don't count.
    """
    write = Admission(str(obj["kind"]), str(obj["apiVersion"]).rpartition("/")[2], CREATE, obj, user="", settings=Settings(facts))
    if wrong := write.decode():
        return f"{format_path(wrong[0].path)}: {wrong[0].message}"
    try:
        texts = [_sentence(one) for one in write.judge() if one.level is Level.ERROR]
    except ConversionError as error:
        return f"{format_path(error.path)}: {error.reason}"
    more = f"; and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return "; ".join(dict.fromkeys(texts[:LISTED])) + more


def _sentence(finding: Finding) -> str:
    return f"{format_path(finding.path)}: {finding.text} [{finding.rule.code}]"
