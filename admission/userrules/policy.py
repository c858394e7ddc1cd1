"""A policy as it is asked, and which writes it is about: ValidatingAdmissionPolicy, its Binding, and this project's Check."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ...api.kinds import BY_NAME, GROUP, KINDS
from ...api.paths import Path
from ...cel import Program
from ...policies.review import CREATE, DELETE, UPDATE
from ...policies.rule import Level, Rule, Stage

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
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"  # the label that every namespace has
_ANY: Final = "*"


class Requirement(NamedTuple):
    """One requirement of a selector; `operator` is In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, labels: Mapping[str, Any], *, whole: bool) -> bool | None:
        """Whether labels meet it; None where they are not all known (`whole` False) and this one is not."""
        if self.key not in labels:
            return self.operator in ("NotIn", "DoesNotExist") if whole else None
        match self.operator:
            case "In":
                return labels[self.key] in self.values
            case "NotIn":
                return labels[self.key] not in self.values
            case _:
                return self.operator == "Exists"


class Selector(NamedTuple):
    """Requirements of labels, all of which must hold; none selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def selects(self, labels: Mapping[str, Any], *, whole: bool = True) -> bool | None:
        """Whether it selects what has these labels; None where that depends on labels that are not known."""
        answers = [requirement.holds(labels, whole=whole) for requirement in self.requirements]
        return False if False in answers else None if None in answers else True


EVERYTHING: Final = Selector()


class ResourceRule(NamedTuple):
    """One entry of `resourceRules`."""

    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[str, ...]
    operations: frozenset[str]
    names: frozenset[str]
    scope: str

    def covers(self, plural: str, version: str, operation: str, name: str) -> bool:
        """Whether it is about a write; all our kinds live in namespaces."""
        return (
            not self.groups.isdisjoint((_ANY, GROUP))
            and not self.versions.isdisjoint((_ANY, version))
            and not self.operations.isdisjoint((_ANY, operation))
            and any(resource in (_ANY, "*/*", plural, f"{plural}/*") for resource in self.resources)
            and (not self.names or name in self.names)
            and self.scope != "Cluster"
        )


class WriteInfo(NamedTuple):
    """The properties of a write that matching looks at."""

    kind: str
    version: str
    operation: str
    name: str
    namespace: str
    labels: tuple[Mapping[str, Any], ...]  # of the object and the old object, as far as there are
    namespace_labels: Mapping[str, Any] | None  # None where they are not known


class Match(NamedTuple):
    """The writes that a policy or a binding is about; no rules mean everything."""

    rules: tuple[ResourceRule, ...] = ()
    excluded: tuple[ResourceRule, ...] = ()
    equivalent: bool = True
    namespaces: Selector = EVERYTHING
    objects: Selector = EVERYTHING

    def version_of(self, info: WriteInfo) -> str:
        """The version in which the object is judged; empty where the resource rules are not about it."""
        if self._find_version(self.excluded, info):
            return ""
        return self._find_version(self.rules, info) if self.rules else info.version

    def selects(self, info: WriteInfo) -> bool | None:
        """Whether its selectors take the object and its namespace; None where the namespace's labels are not known."""
        if self.objects.requirements and not any(self.objects.selects(labels) for labels in info.labels):
            return False
        known = {NAMESPACE_NAME: info.namespace} if info.namespace else {}
        labels = known if info.namespace_labels is None else {**info.namespace_labels, **known}
        return self.namespaces.selects(labels, whole=info.namespace_labels is not None and bool(info.namespace))

    def list_kind_versions(self) -> Iterator[str]:
        """The `Kind/version`s that it may be about."""
        for kind in KINDS:
            for version in kind.versions:
                combinations = ((rule, op, name) for rule in self.rules for op in _OPS for name in rule.names or ("",))
                if not self.rules or any(rule.covers(kind.plural, version.name, op, name) for rule, op, name in combinations):
                    yield f"{kind.name}/{version.name}"

    def operations(self) -> frozenset[str]:
        """The operations that it may be about."""
        return frozenset(op for op in _OPS if not self.rules or any(not rule.operations.isdisjoint((_ANY, op)) for rule in self.rules))

    def _find_version(self, rules: tuple[ResourceRule, ...], info: WriteInfo) -> str:
        kind = BY_NAME[info.kind]
        others = (version.name for version in kind.versions if version.name != info.version) if self.equivalent else ()
        versions = (info.version, *others)
        covered = (version for version in versions if any(rule.covers(kind.plural, version, info.operation, info.name) for rule in rules))
        return next(covered, "")


_OPS: Final = (CREATE, UPDATE, DELETE)
NO_WRITE: Final = Match((ResourceRule(frozenset(), frozenset(), (), frozenset(), frozenset(), _ANY),))  # is about nothing


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


INVALID: Final = "Invalid"


class Validation(NamedTuple):
    """One validation: it must be true, else its message is the finding's."""

    expression: Expression
    message: str
    message_expression: Expression | None
    field_path: Path | None  # of a Check: the place of its findings; None where the expression decides
    reason: str = INVALID  # of the Status that an API server answers


class Binding(NamedTuple):
    """A binding of a policy: the writes that it is asked about, the parameter, and the actions that follow."""

    name: str
    policy: str
    match: Match
    actions: tuple[str, ...]
    param_name: str = ""
    param_namespace: str = ""
    param_selector: Selector | None = None  # in place of a name
    allows_missing: bool = False  # whether a write passes where the parameter is not there


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
    trouble: str = ""  # why it can't be asked; then `fails` decides


def rule_of(
    name: str, match: Match, facts: tuple[str, ...], action: str, metadata: dict[str, Any], messages: list[str], module: str
) -> Rule:
    """The policy as a rule of the catalogue, whose page says what its annotations and messages do."""
    annotations = metadata.get("annotations")
    described = str((annotations if isinstance(annotations, dict) else {}).get(DESCRIPTION) or "")
    title = " ".join((described or messages[0]).split())
    sentences = "".join(f" {text.strip()};" for text in dict.fromkeys(messages)).rstrip(";")
    return Rule(
        code=CODE,
        name=PREFIX + name,
        where=dict.fromkeys(match.list_kind_versions(), ""),
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
        documentation=f"{title}\n\nWhy\nA rule of your own, in {module}:{sentences}.\n",
        check=_never,
        module=module,
    )


def _never(_: Any) -> Any:
    raise NotImplementedError("a user's rule is evaluated by its policy")
