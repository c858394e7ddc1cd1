"""Findings and notes of users' own rules about one object, at the line of the value that decided."""

from collections.abc import Sequence

from ...admission.pipeline import Admission
from ...admission.userrules.evaluate import Write, ask
from ...api.paths import Path
from ...api.schema import Node
from ...api.shape import child
from ...policies.facts import Facts
from ...policies.finding import Level
from ...policies.review import DELETE
from ..facts.load import flag_for
from ..userrules.load import Asked
from .finding import Findings
from .levels import ERROR, POLICIES, SCHEMA


def ask_user_rules(asked: Asked, write: Admission, findings: Findings, facts: Facts, groups: Sequence[str]) -> None:
    """Asks every policy about a write, and adds its findings and notes."""
    obj, old = (None, write.object) if write.operation == DELETE else (write.object, write.old)
    user = {"username": write.user, **({"groups": [*groups]} if groups else {})} if write.user else None
    seen = Write(write.kind, write.version, write.operation, obj, old, user, facts.line)
    around = asked.around(facts)
    invalid = any(one.level == ERROR and one.stage == SCHEMA for one in findings.located)
    for policy in asked.rules.policies:
        for said in ask(policy, seen, around):
            if said.level is Level.NOT_EVALUATED:
                flag = flag_for(said.fact, facts.line) if said.fact else ""
                findings.note(policy.rule.name, policy.rule.code, said.text, flag)
            elif said.is_error and invalid:
                findings.note(policy.rule.name, policy.rule.code, f"not evaluated until the schema errors are fixed: {said.text}", "")
            else:
                path = _with_keys(said.path or (), write.schema)
                findings.add(policy.rule, said.level.value, POLICIES, path, said.text)


def _with_keys(path: Path, schema: Node) -> Path:
    """The path with keys of maps as such, which are printed in brackets."""
    steps: list[str | int] = []
    node: Node | None = schema
    for step in path:
        named, node = child(node, step)
        steps.append(named)
    return tuple(steps)
