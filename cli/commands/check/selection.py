"""Which rules a run asks and reports, and as what: `--select` and `--ignore` name rules, codes, or beginnings; a project weighs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ....policies.catalogue import list_all
from ....policies.checks import EARLY, LEGACY_KIND, UNCONVERTIBLE, UNFILLED, UNKNOWN_FIELD, UNKNOWN_KIND, WRONG_TYPE
from ...console.exits import UsageError
from ...console.nearest import did_you_mean
from ...files.read import STDIN
from ...validation.levels import ERROR, FAULT, WARNING
from ...yaml.errors import InputError

if TYPE_CHECKING:
    from ....policies.review import Fields
    from ...project.load import Severity
    from ...project.options import ProjectOptions
    from ...userrules.load import Pods, UserRuleContext, UserRules
    from ...userrules.surroundings import PolicyInputs
    from ...validation.finding import LocatedFinding
    from ...yaml.load import Source

_UNJUDGED: Final = frozenset(rule.name for rule in (UNKNOWN_KIND, WRONG_TYPE, UNCONVERTIBLE, LEGACY_KIND, UNFILLED))


class RuleSelection(NamedTuple):
    """The rules of a run: the words of both flags, and what a project makes of single rules; no selecting word means every rule."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = {}

    def includes(self, rule: str, code: str) -> bool:
        """Whether findings of a rule are reported.

        Those that keep an object from being judged at all are, unless `--ignore` or the project names the whole rule.
        """
        return not self.explain_off(rule) and self.is_requested(rule, code)

    def explain_off(self, rule: str) -> str:
        """The project's reason to switch a rule off; empty where it does not."""
        severity = self.severities.get(rule)
        return severity.reason if severity is not None and severity.level not in (ERROR, WARNING) else ""

    @property
    def needs_rules(self) -> bool:
        """Whether the flags ask for more than the schema finds: for rules, conversion, or comments that silence these."""
        named = ((name, code) for name, code in (*_known(), ("policies", "")) if name not in EARLY)
        return not self.select or any(_matches(self.select, name, code) for name, code in named)

    def apply_severity(self, finding: LocatedFinding) -> LocatedFinding:
        """A finding with the project's level of its rule; internal errors keep theirs."""
        severity = self.severities.get(finding.rule)
        return finding if severity is None or finding.level == FAULT else finding._replace(level=severity.level)

    def is_requested(self, rule: str, code: str) -> bool:
        """Whether the flags ask for a rule, whatever the project makes of it."""
        if rule in _UNJUDGED:
            return rule not in self.ignore and code not in {word.upper() for word in self.ignore}
        return (not self.select or _matches(self.select, rule, code)) and not _matches(self.ignore, rule, code)


def select_rules(
    project: ProjectOptions, select: Sequence[str] = (), ignore: Sequence[str] = (), *, validated: bool = False
) -> RuleSelection:
    """Makes a choice of what flags say, each perhaps several words between commas, and of what the project file makes of single rules.

    Flags win: a rule that `--select` names is as it is, and so are unknown fields where `validated` says that a flag decides on them.
    Raises: UsageError for a word that means no rule.
    """
    severities: Mapping[str, Severity] = project.value("rules") or {}
    chosen, ignored = _words(select), _words(ignore)
    known = [*_known(), ("policies", ""), ("updates", "")] if chosen or ignored else []
    for flag, word in (*(("--select", word) for word in chosen), *(("--ignore", word) for word in ignored)):
        if not any(_matches((word,), name, code) for name, code in known):
            near = did_you_mean(word, [name for name, _ in known])
            raise UsageError(f"{flag} {word}: no rule has this name, code or beginning{near}")
    won = {UNKNOWN_FIELD.name} if validated else set()
    won |= {name for name, code in _known() if severities and {name, code} & {*chosen}}
    left = {name: severity for name, severity in severities.items() if name not in won}
    return RuleSelection(chosen, ignored, left)


def make_rule_context(
    rules: UserRules | None, files: Sequence[str | Source | InputError] | None, live: PolicyInputs | None = None
) -> UserRuleContext | None:
    """The rules of a run over some files, which are read once more when a rule asks for all documents; None without rules.

    Without `files` the other documents are not known. `live` has the parameters and Namespaces that are in no file.
    """
    if rules is None or not rules.policies:
        return None
    from ....admission.userrules.evaluate import UnknownError
    from ...files.documents import read_documents
    from ...objects.manifest import unfold_list
    from ...userrules.load import UserRuleContext

    def documents() -> list[Fields]:
        if files is None or STDIN in files:
            raise UnknownError("only a run over files knows the other documents")
        read = (document for file in files for document in read_documents(file, "", lenient=True))
        return [item.data for document in read if not isinstance(document, InputError) for item in unfold_list(document)]

    def pods() -> Pods:
        from ..render.pods import read_pods  # takes longer to import than a small file to check

        return read_pods()

    return UserRuleContext(rules, documents, pods, live)


def _known() -> Iterator[tuple[str, str]]:
    """The name and code of every rule."""
    return ((rule.name, rule.code) for rule in list_all())


def _words(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def _matches(words: tuple[str, ...], rule: str, code: str) -> bool:
    return any(rule.startswith(word) or code.startswith(word.upper()) for word in words)
