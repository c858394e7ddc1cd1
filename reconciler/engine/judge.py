"""Judges objects as admission does, which a webhook may not have done."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from ...admission import pipeline
from ...api.paths import format_path
from ...conversion.lens.protocol import ConversionError
from ...kube.protocol import Node
from ...policies.facts import Facts
from ...policies.review import CREATE
from ...policies.rule import Level, Rule
from ..common.applied_diff import fingerprint
from ..common.keys import uid_of

MAX_CACHED_OBJECTS: Final = 20_000  # of some 300 bytes; judging one costs about a millisecond
MAX_LISTED_FINDINGS: Final = 5  # in the message


class Judge:
    """Judges an object again only if it, a fact or a policy changed."""

    def __init__(self, policies: Callable[[], tuple[str, ...]] = tuple) -> None:
        """`policies` gives users' own that are in force now, as JSON."""
        self._policies = policies
        # uid -> what was judged (content, facts, policies), and the verdict
        self._known: OrderedDict[str, tuple[tuple[str, Facts, tuple[str, ...]], str]] = OrderedDict()

    def refusal(self, obj: Node, facts: Facts) -> str:
        """Why admission would refuse the object, or an empty string."""
        uid, judged = uid_of(obj), (fingerprint(obj), facts, self._policies())
        known = self._known.get(uid)
        if known is not None and known[0] == judged:
            return known[1]
        verdict = self.ask(obj, facts)
        self._known[uid] = judged, verdict
        self._known.move_to_end(uid)
        while len(self._known) > MAX_CACHED_OBJECTS:
            self._known.popitem(last=False)
        return verdict

    def ask(self, obj: Node, facts: Facts) -> str:
        """The same of an object that isn't stored, which is judged each time."""
        return check_admission(obj, facts, self._policies())


def check_admission(obj: Node, facts: Facts, policies: tuple[str, ...] = ()) -> str:
    """Why admission would refuse an object, or an empty string; findings that depend on a user or on an unknown fact don't count."""
    kind, version = str(obj["kind"]), str(obj["apiVersion"]).rpartition("/")[2]
    write = pipeline.Admission(kind, version, CREATE, obj, user="", settings=pipeline.Settings(facts))
    if wrong := write.decode():
        return f"{format_path(wrong[0].path)}: {wrong[0].message}"
    try:
        found = write.judge()
        if policies:
            from ...admission.userrules.evaluate import Write, judge_by_policies

            found += judge_by_policies(policies, Write(kind, version, CREATE, obj, None, None, facts.line), facts, sure=True)
        errors = [one for one in found if one.level is Level.ERROR]
    except ConversionError as error:
        return f"{format_path(error.path)}: {error.reason}"
    texts = dict.fromkeys(f"{format_path(one.path)}: {one.text} [{_name(one.rule)}]" for one in errors[:MAX_LISTED_FINDINGS])
    return "; ".join(texts) + (f"; and {len(errors) - MAX_LISTED_FINDINGS} more" if len(errors) > MAX_LISTED_FINDINGS else "")


def _name(rule: Rule) -> str:
    """The code of a rule, or the name of a user's policy."""
    return rule.code if rule.code.startswith("DYN") else rule.name
