"""Findings and notes of users' own rules about one object, at the line of the value that decided."""

from collections.abc import Iterator, Sequence

from ...admission.pipeline import Admission
from ...admission.userrules.evaluate import Said, Write, ask
from ...api.kinds import BY_NAME
from ...api.paths import Path
from ...api.schema import Node
from ...api.shape import child
from ...policies.facts import Facts
from ...policies.review import DELETE
from ...policies.rule import Level
from ..facts.load import flag_for
from ..userrules.load import Asked
from .finding import Findings
from .levels import ERROR, POLICIES, SCHEMA


def ask_user_rules(asked: Asked, write: Admission, findings: Findings, facts: Facts, groups: Sequence[str]) -> None:
    """Asks every policy about a write, and adds its findings and notes."""
    invalid = any(one.level == ERROR and one.stage == SCHEMA for one in findings.located)
    for said in ask_all(asked, write, facts, groups):
        rule = said.policy.rule
        if said.level is Level.NOT_EVALUATED:
            findings.note(rule.name, rule.code, said.text, flag_for(said.fact, facts.line) if said.fact else "")
        elif said.is_error and invalid:
            findings.note(rule.name, rule.code, f"not evaluated until the schema errors are fixed: {said.text}", "")
        else:
            findings.add(rule, said.level.value, POLICIES, _with_keys(said.path or (), write.schema), said.text)


def ask_all(asked: Asked, write: Admission, facts: Facts, groups: Sequence[str]) -> Iterator[Said]:
    """The verdicts of all policies on a write."""
    obj, old = (None, write.object) if write.operation == DELETE else (write.object, write.old)
    user = {"username": write.user, **({"groups": [*groups]} if groups else {})} if write.user else None
    seen = Write(write.kind, write.version, write.operation, obj, old, user, facts.line)
    around = asked.around(facts)
    about = {f"{write.kind}/{version.name}" for version in BY_NAME[write.kind].versions}
    asked.took_part.update(policy.name for policy in asked.rules.policies if not about.isdisjoint(policy.rule.where))
    return (said for policy in asked.rules.policies for said in ask(policy, seen, around))


def _with_keys(path: Path, schema: Node) -> Path:
    """The path with keys of maps as such, which are printed in brackets."""
    steps: list[str | int] = []
    node: Node | None = schema
    for step in path:
        named, node = child(node, step)
        steps.append(named)
    return tuple(steps)
