"""Judges objects as admission does, which a webhook may not have done."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from ...admission import pipeline
from ...api.paths import format_path
from ...conversion.lens.protocol import ConversionError
from ...kube.protocol import Node
from ...policies.facts import Facts
from ...policies.finding import Finding
from ...policies.ratchet import drop_stored_errors
from ...policies.review import CREATE
from ...policies.rule import Level, Rule
from ..common.applied_diff import fingerprint
from ..common.keys import uid_of

MAX_CACHED_OBJECTS: Final = 20_000  # of some 300 bytes; judging one costs about a millisecond
MAX_LISTED_FINDINGS: Final = 5  # in the message


class _CachedVerdict(NamedTuple):
    """The judged content, facts and policies, the verdict, and the object as it was accepted last."""

    judged: tuple[str, Facts, tuple[str, ...]]
    verdict: str
    accepted: Node | None


class Judge:
    """Judges an object again only if it, a fact or a policy changed; as in an update, mistakes that it had may stay."""

    def __init__(self, policies: Callable[[], tuple[str, ...]] = tuple) -> None:
        """`policies` gives users' own that are in force now, as JSON."""
        self._policies = policies
        self._known: OrderedDict[str, _CachedVerdict] = OrderedDict()  # by uid

    def refusal(self, obj: Node, facts: Facts, *, runs: bool = False) -> str:
        """Explain why admission would refuse the object; empty if it wouldn't. One that `runs` was accepted before this process began."""
        uid, judged = uid_of(obj), (fingerprint(obj), facts, self._policies())
        known = self._known.get(uid)
        accepted = known.accepted if known is not None else obj if runs else None
        if known is None or known.judged != judged:
            known = _CachedVerdict(judged, check_admission(obj, facts, self._policies(), accepted), accepted)
        self._known[uid] = known if known.verdict else known._replace(accepted=obj)  # the cache's own object, of which it keeps one
        self._known.move_to_end(uid)
        while len(self._known) > MAX_CACHED_OBJECTS:
            self._known.popitem(last=False)
        return known.verdict

    def ask(self, obj: Node, facts: Facts) -> str:
        """Explain why admission would refuse an object that isn't stored; empty if it wouldn't. Such an object is judged each time."""
        return check_admission(obj, facts, self._policies())


def check_admission(obj: Node, facts: Facts, policies: tuple[str, ...] = (), accepted: Node | None = None) -> str:
    """Explain why admission would refuse an object; empty if it wouldn't. Findings that depend on a user or an unknown fact don't count.

    Mistakes that an object had when it was `accepted` don't either, but for those that no update may keep.
    """
    kind, version = str(obj["kind"]), str(obj["apiVersion"]).rpartition("/")[2]
    write = pipeline.Admission(kind, version, CREATE, obj, user="", settings=pipeline.Settings(facts))
    if wrong := write.decode():
        return f"{format_path(wrong[0].path)}: {wrong[0].message}"
    try:
        findings = write.judge()
        if findings and accepted is not None:
            findings = [*drop_stored_errors(findings, _find(kind, accepted, facts), obj, accepted)]
        if policies:
            from ...admission.userrules.evaluate import Write, judge_by_policies

            findings += judge_by_policies(policies, Write(kind, version, CREATE, obj, None, None, facts.line), facts, sure=True)
        errors = [finding for finding in findings if finding.level is Level.ERROR]
    except ConversionError as error:
        return f"{format_path(error.path)}: {error.reason}"
    texts = dict.fromkeys(
        f"{format_path(finding.path)}: {finding.text} [{_name(finding.rule)}]" for finding in errors[:MAX_LISTED_FINDINGS]
    )
    return "; ".join(texts) + (f"; and {len(errors) - MAX_LISTED_FINDINGS} more" if len(errors) > MAX_LISTED_FINDINGS else "")


def _find(kind: str, accepted: Node, facts: Facts) -> list[Finding]:
    version = str(accepted["apiVersion"]).rpartition("/")[2]
    write = pipeline.Admission(kind, version, CREATE, accepted, user="", settings=pipeline.Settings(facts))
    return [] if write.decode() else write.judge()


def _name(rule: Rule) -> str:
    """The code of a rule, or the name of a user's policy."""
    return rule.code if rule.code.startswith("DYN") else rule.name
