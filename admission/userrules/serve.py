"""Users' policies in the server: compiled once in each process, and asked beside our rules."""

from __future__ import annotations

import json
from functools import lru_cache, partial
from typing import Any

from ...policies.facts import Facts
from ...policies.finding import Cause, Finding, Level
from .evaluate import Around, Write, ask, find_namespace, find_objects, known_facts, share_budget
from .policy import Policy
from .read import is_binding, is_policy, read_binding, read_policy


@lru_cache(maxsize=2)
def _compiled(texts: tuple[str, ...]) -> tuple[tuple[Policy, ...], tuple[Any, ...], int]:
    """The policies of JSON documents, the other objects among these, and what one expression may cost."""
    documents = [json.loads(text) for text in texts]
    bindings = [read_binding(one) for one in documents if is_binding(one)]
    policies = tuple(read_policy(one, bindings, "") for one in documents if is_policy(one))
    return policies, tuple(one for one in documents if not is_policy(one) and not is_binding(one)), share_budget(policies)


def judge_by_policies(texts: tuple[str, ...], write: Write, facts: Facts) -> list[Finding]:
    """The findings of policies, given as JSON documents with their bindings and parameters.

    Where something is unknown, the failure policy decides, as for an expression with an error. A binding that only audits has no effect.
    """
    policies, objects, budget = _compiled(texts)
    known = known_facts(facts)
    more = {"facts": lambda _: known, "line": lambda _: str(facts.line)}
    lacking = frozenset(facts._fields) - known.keys()
    around = Around(partial(find_namespace, objects), partial(find_objects, objects), more, lacking, budget)
    found = []
    for policy in policies:
        for said in ask(policy, write, around):
            unknown = said.level is Level.NOT_EVALUATED
            if unknown and not (said.is_error and policy.fails):
                continue
            text = f"is not evaluated: {said.text}" if unknown else said.text
            level = Level.ERROR if unknown else said.level
            found.append(Finding(policy.rule, Cause.INVALID, level, said.path or (), text))
    return found
