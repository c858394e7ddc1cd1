"""Findings and notes of users' own rules about one object, at the line of the value that decided."""

from collections.abc import Iterator, Sequence

from ...admission.pipeline import Admission
from ...admission.userrules.evaluate import PolicyDecision, Write, ask
from ...api.kinds import BY_NAME
from ...api.paths import Path
from ...api.schema import Node
from ...api.shape import child
from ...policies.facts import Facts
from ...policies.review import DELETE
from ...policies.rule import Level
from ..facts.load import find_flag
from ..userrules.load import UserRuleContext
from .finding import Findings
from .levels import ERROR, POLICIES, SCHEMA


def ask_user_rules(run_rules: UserRuleContext, write: Admission, findings: Findings, facts: Facts, groups: Sequence[str]) -> None:
    """Asks every policy about a write, and adds its findings and notes."""
    invalid = any(finding.level == ERROR and finding.stage == SCHEMA for finding in findings.located)
    for verdict in ask_all(run_rules, write, facts, groups):
        rule = verdict.policy.rule
        if verdict.level is Level.NOT_EVALUATED:
            findings.note(rule.name, rule.code, verdict.text, find_flag(verdict.fact, facts.line) if verdict.fact else "")
        elif verdict.is_error and invalid:
            findings.note(rule.name, rule.code, f"not evaluated until the schema errors are fixed: {verdict.text}", "")
        else:
            findings.add(rule, verdict.level.value, POLICIES, _with_keys(verdict.path or (), write.schema), verdict.text)


def ask_all(run_rules: UserRuleContext, write: Admission, facts: Facts, groups: Sequence[str]) -> Iterator[PolicyDecision]:
    """The verdicts of all policies on a write."""
    obj, old = (None, write.object) if write.operation == DELETE else (write.object, write.old)
    user = {"username": write.user, **({"groups": [*groups]} if groups else {})} if write.user else None
    seen = Write(write.kind, write.version, write.operation, obj, old, user, facts.line)
    around = run_rules.around(facts)
    about = {f"{write.kind}/{version.name}" for version in BY_NAME[write.kind].versions}
    run_rules.took_part.update(policy.name for policy in run_rules.rules.policies if not about.isdisjoint(policy.rule.where))
    return (verdict for policy in run_rules.rules.policies for verdict in ask(policy, seen, around))


def _with_keys(path: Path, schema: Node) -> Path:
    """The path with keys of maps as such, which are printed in brackets."""
    steps: list[str | int] = []
    node: Node | None = schema
    for step in path:
        named, node = child(node, step)
        steps.append(named)
    return tuple(steps)
