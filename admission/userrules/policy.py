"""A policy as it is asked, and what of a document makes one: ValidatingAdmissionPolicy, its Binding, and this project's Check."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ...api.paths import Path
from ...cel import Program
from ...policies.finding import Level
from ...policies.rule import Rule, Stage
from .match import Match, Selector

PREFIX: Final = "user/"
CODE: Final = "USER"  # of every user's rule
POLICY: Final = "ValidatingAdmissionPolicy"
BINDING: Final = "ValidatingAdmissionPolicyBinding"
CHECK: Final = "Check"
POLICY_GROUP: Final = "admissionregistration.k8s.io"
CHECK_VERSION: Final = "dynamo-webhooks/v1"
DENY: Final = "Deny"
WARN: Final = "Warn"
AUDIT: Final = "Audit"
ACTIONS: Final = (DENY, WARN, AUDIT)
DESCRIPTION: Final = "kubernetes.io/description"  # the annotation with the reason of a policy


class PolicyError(Exception):
    """A policy that can't be used: the field, a sentence, and the place inside the field's text where that is an expression."""

    def __init__(self, path: Path, text: str, line: int = 0, column: int = 0) -> None:
        """`line` and `column` count from 1; 0 where there is none."""
        super().__init__(text)
        self.path, self.text, self.line, self.column = path, text, line, column


class Expression(NamedTuple):
    """A compiled expression with its text."""

    program: Program
    text: str


class Validation(NamedTuple):
    """One validation: it must be true, else its message is the finding's."""

    expression: Expression
    message: str
    message_expression: Expression | None
    field_path: Path | None  # of a Check: the place of its findings; None where the expression decides


class Binding(NamedTuple):
    """What a policy is asked about, with which parameter, and what comes of it."""

    name: str
    policy: str
    match: Match
    actions: tuple[str, ...]
    param_name: str = ""
    param_namespace: str = ""
    param_selector: Selector | None = None  # in place of a name


class Policy(NamedTuple):
    """One policy with its bindings; without one it denies."""

    name: str
    kind: str  # ValidatingAdmissionPolicy or Check
    match: Match
    conditions: tuple[tuple[str, Expression], ...]
    variables: dict[str, Expression]
    validations: tuple[Validation, ...]
    fails: bool  # whether an expression that can't be evaluated is a failure
    param: tuple[str, str] | None  # apiVersion and kind of its parameter
    bindings: tuple[Binding, ...]
    reads: frozenset[str]  # root names that any of its expressions reads
    facts: tuple[str, ...]  # that any of them reads
    rule: Rule

    @property
    def rule_name(self) -> str:
        """The name of its rule, `user/NAME`."""
        return PREFIX + self.name


def rule_of(
    name: str, match: Match, facts: tuple[str, ...], action: str, metadata: dict[str, Any], messages: list[str], module: str
) -> Rule:
    """The policy as a rule of the catalogue, whose page says what its annotations and messages do."""
    annotations = metadata.get("annotations")
    described = str((annotations if isinstance(annotations, dict) else {}).get(DESCRIPTION) or "")
    title = " ".join((described or messages[0]).split())
    said = "".join(f" {text.strip()};" for text in dict.fromkeys(messages)).rstrip(";")
    return Rule(
        code=CODE,
        name=PREFIX + name,
        where=dict.fromkeys(match.places(), ""),
        when=(),
        on=match.operations(),
        needs=facts,
        level=Level.ERROR if action == DENY else Level.WARNING,
        stage=Stage.SHAPE,
        ratchets=False,
        removes=False,
        since=None,
        until=None,
        difference=None,
        documentation=f"{title}\n\nWhy\nA rule of your own, in {module}:{said}.\n",
        check=_never,
        module=module,
    )


def _never(_: Any) -> Any:
    raise NotImplementedError("a user's rule is evaluated by its policy")
