"""Asks policies about one write, as an API server does. Whatever is unknown offline is reported, and never passes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Any, Final, NamedTuple

from ...api.kinds import BY_NAME, GROUP, api_version
from ...api.line import Line
from ...api.paths import MISSING, Path, format_path, lookup
from ...cel import DEFAULT_BUDGET, EvaluationError, Lazy
from ...conversion.kinds import KINDS, kind_of
from ...conversion.lens.protocol import ConversionError
from ...conversion.objects import convert_object, target
from ...conversion.translate import translate_path
from ...policies.facts import UNKNOWN, Facts
from ...policies.finding import Cause, Finding
from ...policies.review import Fields
from ...policies.rule import Level
from .policy import ACTIONS, AUDIT, DENY, INVALID, NO_WRITE, WARN, Binding, Expression, Policy, PolicyError, Selector, Validation, WriteInfo
from .read import is_binding, is_policy, name_of, read_binding, read_policy, read_unusable_policy

MAX_MESSAGE_BYTES: Final = 5 * 1024  # computed by an expression; as an API server takes
_MAX_OBJECT_COST: Final = 20_000_000  # of all expressions about one object
_MIN_EXPRESSION_COST: Final = 1_000
_NOT_ON_SERVER: Final = frozenset({"pods", "documents", "authorizer"})  # names that the server has no value for
_USER, _GROUPS = re.compile(r"\buserInfo\b"), re.compile(r"\bgroups\b")
_NO_PARAMETER: Final = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
_LEVELS: Final = {DENY: Level.ERROR, WARN: Level.WARNING, AUDIT: Level.NOT_EVALUATED}


class UnknownError(Exception):
    """Something that a policy reads is not known here; the text ends a sentence, `fact` names the missing fact."""

    def __init__(self, text: str, fact: str = "") -> None:
        super().__init__(text)
        self.text, self.fact = text, fact


class PolicyDecision(NamedTuple):
    """The decision of a policy about a write; `path` is in the version that the author wrote, None where no field decided."""

    policy: Policy
    binding: str
    level: Level
    text: str
    path: Path | None = None
    fact: str = ""
    is_error: bool = False  # whether an expression could not be evaluated
    reason: str = INVALID  # of the Status that an API server answers to a refusal
    answer: str = ""  # the API server's own words, where the text is another


class ParamRef(NamedTuple):
    """A reference of a Binding to its parameters: one by its name, or those that a selector takes."""

    version: str
    kind: str
    namespace: str
    name: str
    selector: Selector | None

    def __str__(self) -> str:
        named = f" {self.name}" if self.name else "s of its selector"
        return f"{self.kind}{named}{f' of namespace {self.namespace}' if self.namespace else ''}"


class PolicyEnv(NamedTuple):
    """The known surroundings of a write. Each member raises UnknownError for something unknown."""

    namespace: Callable[[str], Fields]  # the Namespace of a name
    params: Callable[[ParamRef], list[Fields]]  # none if they don't exist
    values: Mapping[str, Callable[[Write], object]] = {}  # what a Check reads besides: pods, documents, facts, line
    unknown_facts: frozenset[str] = frozenset()  # facts that are not known
    budget: int = DEFAULT_BUDGET  # what one expression may cost


def find_params(objects: Iterable[Fields], ref: ParamRef) -> list[Fields]:
    """The parameters of a reference among objects."""
    candidates = (obj for obj in objects if obj.get("kind") == ref.kind and obj.get("apiVersion") == ref.version)
    return [obj for obj in candidates if _in(obj, ref.namespace) and _is_named(obj, ref)]


def _is_named(obj: Fields, ref: ParamRef) -> bool:
    if ref.selector is not None:
        return bool(ref.selector.selects(_labels(obj)))
    return bool(lookup(obj, ("metadata", "name")) == ref.name)


def find_namespace(objects: Iterable[Fields], name: str) -> Fields:
    """The Namespace of a name. Raises: UnknownError."""
    for namespace in find_params(objects, ParamRef("v1", "Namespace", "", name, None)) if name else ():
        return namespace
    raise UnknownError("the Namespace of the object is not known: put it beside the policies")


def share_budget(policies: Iterable[Policy]) -> int:
    """Returns the cost limit of one expression, so that all together end in seconds; that of an API server where there are few."""
    expressions = sum(len(policy.bindings) * sum(1 for _ in _list_expressions(policy)) for policy in policies)
    return max(_MIN_EXPRESSION_COST, min(DEFAULT_BUDGET, _MAX_OBJECT_COST // max(1, expressions)))


def known_facts(facts: Facts) -> dict[str, Any]:
    """The facts that are known, as data of an expression."""
    return {name: _plain(value) for name, value in facts._asdict().items() if value is not UNKNOWN}


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return {name: list(domains) for name, domains in value.items()} if isinstance(value, dict) else value


class Write:
    """One write in the author's version, and in others when a policy asks."""

    def __init__(
        self,
        kind: str,
        version: str,
        operation: str,
        obj: Fields | None,
        old: Fields | None,
        user: Fields | None,
        line: Line,
        review: Fields | None = None,
    ) -> None:
        """`obj` is None for a deletion; `user` is the userInfo, None where it is not known; `review` is the request of a review."""
        self.review = review or {}
        self.kind, self.version, self.operation, self.user, self.line = kind, version, operation, user, line
        self.object, self.old = obj, old
        self.metadata = [side["metadata"] for side in (obj, old) if side is not None and isinstance(side.get("metadata"), dict)]
        self.of_version = cache(self._of_version)

    def read_name(self, field: str) -> str:
        """The name, the beginning of a generated name, or the namespace of the object."""
        value = self.metadata[0].get(field) if self.metadata else None
        return value if isinstance(value, str) else ""

    def _of_version(self, version: str) -> tuple[Fields | None, Fields | None]:
        """The object and the old object in a version. Raises: UnknownError."""
        if version == self.version:
            return self.object, self.old
        try:
            made = [side and convert_object(side, target(api_version(version), self.line)).object for side in (self.object, self.old)]
        except ConversionError as error:
            raise UnknownError(f"the object can't be converted to {version}, which the policy needs: {error.reason}") from None
        return made[0], made[1]

    def request(self, version: str) -> Fields:
        """The request, as far as it is known, to a policy that judges in a version."""
        request: Fields = {"operation": self.operation}
        for names, of in ((("kind", "resource"), version), (("requestKind", "requestResource"), self.version)):
            values = {"kind": self.kind}, {"resource": BY_NAME[self.kind].plural}
            request |= {name: {"group": GROUP, "version": of, **value} for name, value in zip(names, values, strict=True)}
        options = {"apiVersion": "meta.k8s.io/v1", "kind": f"{self.operation.title()}Options"}
        request |= {name: value for name in ("name", "namespace") if (value := self.read_name(name))}
        request |= {name: self.review.get(name) or other for name, other in (("dryRun", False), ("options", options))}
        return {**request, "userInfo": self.user or {}}


def ask(policy: Policy, write: Write, env: PolicyEnv) -> list[PolicyDecision]:
    """The decisions of a policy about a write, by each of its bindings that matches."""
    answers: list[PolicyDecision] = []
    info = _read_write(policy, write, env)
    version = policy.match.version_of(info)
    taken = policy.match.selects(info) if version else False
    for binding in policy.bindings if taken is not False else ():
        bound = binding.match.selects(info) if binding.match.version_of(info) else False
        if bound is False:
            continue
        try:
            decisions = list(_Evaluation(policy, binding, write, env, version).decide(sure=taken is not None and bound is not None))
        except UnknownError as error:
            decisions = [PolicyDecision(policy, binding.name, Level.NOT_EVALUATED, error.text, None, error.fact, is_error=True)]
        answers += decisions
    return answers


def _read_write(policy: Policy, write: Write, env: PolicyEnv) -> WriteInfo:
    labels = tuple(each if isinstance(each := metadata.get("labels"), dict) else {} for metadata in write.metadata)
    known: Mapping[str, Any] | None = None
    if any(match.namespaces.requirements for match in (policy.match, *(each.match for each in policy.bindings))):
        try:
            known = (env.namespace(write.read_name("namespace")).get("metadata") or {}).get("labels") or {}
        except UnknownError:
            known = None
    return WriteInfo(write.kind, write.version, write.operation, write.read_name("name"), write.read_name("namespace"), labels, known)


class _Evaluation:
    """One policy by one binding about one write."""

    def __init__(self, policy: Policy, binding: Binding, write: Write, env: PolicyEnv, version: str) -> None:
        """`version` is the one in which the policy judges."""
        self.policy, self.binding, self.write, self.env, self.version = policy, binding, write, env, version

    def decide(self, *, sure: bool) -> Iterator[PolicyDecision]:
        """The verdicts, validation by validation; `sure` says whether it is about the write at all. Raises: UnknownError."""
        policy = self.policy
        if policy.trouble:
            yield from self._make_decisions(policy.trouble, None, is_error=True) if policy.fails else ()
            return
        if not sure:
            self.env.namespace(self.write.read_name("namespace"))  # raises for what its labels depend on
        if "authorizer" in policy.reads:
            raise UnknownError("it needs the cluster's permissions (authorizer)")
        if not self.write.review and (unknown := _find_unknown(policy, self.write)):
            raise UnknownError(unknown)
        if missing_fact := next((fact for fact in policy.facts if fact in self.env.unknown_facts), ""):
            raise UnknownError(f"the fact {missing_fact} is not known", missing_fact)
        params = self._params()
        self.budget = max(_MIN_EXPRESSION_COST, self.env.budget // max(1, len(params)))
        for param in params:
            yield from self._decide_for(param)
        if not params and policy.fails and not self.binding.allows_missing:
            text = f"must have its parameter, the {self._param_ref()}, which does not exist"
            yield PolicyDecision(policy, self.binding.name, Level.ERROR, text, answer=_NO_PARAMETER)  # whatever the actions of the Binding

    def _decide_for(self, param: Fields | None) -> Iterator[PolicyDecision]:
        scope = self._scope(param)
        problems, matches = [], True
        for _, condition in self.policy.conditions:
            try:
                matches = matches and self._evaluate(condition, scope) is not False
            except EvaluationError as error:
                problems.append(_describe_failure(condition, error))
        if not matches:
            return
        if problems:
            text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            yield from self._make_decisions(text, None, is_error=True) if self.policy.fails else ()
            return
        for validation in self.policy.validations:
            yield from self._decide_by(validation, scope)

    def _evaluate(self, expression: Expression, scope: Mapping[str, object]) -> object:
        """The value. Raises: EvaluationError, UnknownError for an error that an API server would not meet."""
        try:
            return expression.program.evaluate(scope, self.budget)
        except EvaluationError as error:
            if not self.write.review and (missing := _find_missing(self.write, str(error))):
                raise UnknownError(missing) from None
            raise

    def _decide_by(self, validation: Validation, scope: Mapping[str, object]) -> Iterator[PolicyDecision]:
        program = validation.expression.program
        try:
            if self._evaluate(validation.expression, scope) is True:
                return
        except EvaluationError as error:
            if self.policy.fails:
                yield from self._make_decisions(_describe_failure(validation.expression, error), validation.field_path, is_error=True)
            return
        path = validation.field_path
        if path is None:
            _, read = program.evaluate_traced(scope, self.budget)
            path = read[1:] if read and read[0] in ("object", "oldObject") else None
        yield from self._make_decisions(_choose_message(validation, scope, self.budget), path, reason=validation.reason)

    def _make_decisions(self, text: str, path: Path | None, *, is_error: bool = False, reason: str = INVALID) -> Iterator[PolicyDecision]:
        """The finding by the gravest action of the binding; one that only audits notes it."""
        place = self._to_author_path(path) if path is not None else None
        level = next(_LEVELS[action] for action in ACTIONS if action in self.binding.actions)
        text = f"the cluster would only audit it: {text}" if level is Level.NOT_EVALUATED else text
        yield PolicyDecision(self.policy, self.binding.name, level, text, place, "", is_error, reason)

    def _to_author_path(self, path: Path) -> Path:
        """A path of the judged version in the author's."""
        if self.version == self.write.version or self.write.kind not in KINDS:
            return path
        judged, _ = self.write.of_version(self.version)
        kind = kind_of(self.write.kind, self.write.line)
        return translate_path(kind, path, judged or {}, self.write.version, self.write.object or {}).path

    def _scope(self, param: Fields | None) -> dict[str, object]:
        obj, old = self.write.of_version(self.version)
        scope: dict[str, object] = {
            "object": obj,
            "oldObject": old,
            "params": param,
            "request": Lazy(partial(self.write.request, self.version)),
        }
        scope["namespaceObject"] = Lazy(lambda: self.env.namespace(self.write.read_name("namespace")))
        scope |= {name: Lazy(partial(find, self.write)) for name, find in self.env.values.items()}
        scope["variables"] = {
            name: Lazy(partial(expression.program.evaluate, scope, self.budget)) for name, expression in self.policy.variables.items()
        }
        return scope

    def _params(self) -> list[Fields] | list[None]:
        """The parameters by which it is asked, one after the other."""
        policy, binding = self.policy, self.binding
        if policy.param is None:
            return [None]
        if not binding.name:
            raise UnknownError(f"no Binding in rules-from names its parameter, of kind {policy.param[1]}")
        if not binding.param_name and binding.param_selector is None:
            return [None]
        return self.env.params(self._param_ref())

    def _param_ref(self) -> ParamRef:
        version, kind = self.policy.param or ("", "")
        namespace = self.binding.param_namespace or self.write.read_name("namespace")
        return ParamRef(version, kind, namespace, self.binding.param_name, self.binding.param_selector)


def _find_unknown(policy: Policy, write: Write) -> str:
    """The part of a write that expressions read and no file holds, as a sentence; empty where there is none."""
    texts = "\n".join(expression.text for expression in _list_expressions(policy))
    if _USER.search(texts):
        if write.user is None:
            return "it reads request.userInfo, and who writes is not known; --as names a user"
        if "groups" not in write.user and _GROUPS.search(texts):
            return "it reads request.userInfo.groups, which are not known; --as-group names one"
    return ""


def _find_missing(write: Write, error: str) -> str:
    """The part of a write that no file holds and whose lack makes the error, as a sentence; empty where there is none."""
    if error == "no such key: namespace" and not write.read_name("namespace"):
        return "it reads the namespace of the object, which names none; -n names one"
    if error == "no such key: name" and not write.read_name("name") and write.read_name("generateName"):
        return "it reads the name of the object, which the API server generates"
    return ""


def _list_expressions(policy: Policy) -> Iterator[Expression]:
    yield from (expression for _, expression in policy.conditions)
    yield from policy.variables.values()
    for validation in policy.validations:
        yield validation.expression
        if validation.message_expression is not None:
            yield validation.message_expression


def _describe_failure(expression: Expression, error: EvaluationError) -> str:
    return f"expression '{expression.text}' resulted in error: {error}"


def _choose_message(validation: Validation, scope: Mapping[str, object], budget: int) -> str:
    """The message as an API server chooses it: the computed one if it is fit to be shown, else the fixed one, else the expression."""
    text = ""
    if validation.message_expression is not None:
        try:
            made = validation.message_expression.program.evaluate(scope, budget)
        except EvaluationError:
            made = None
        text = made.strip() if isinstance(made, str) else ""
        if len(text.encode()) > MAX_MESSAGE_BYTES or "\n" in text:
            text = ""
    return text or validation.message.strip() or f"failed expression: {validation.expression.text.strip()}"


def _in(obj: Fields, namespace: str) -> bool:
    """Whether an object is in a namespace, or in none."""
    own = lookup(obj, ("metadata", "namespace"))
    return own in (MISSING, None, "", namespace)


def _labels(obj: Fields) -> Mapping[str, Any]:
    labels = lookup(obj, ("metadata", "labels"))
    return labels if isinstance(labels, dict) else {}


@lru_cache(maxsize=2)
def _compile_policies(texts: tuple[str, ...]) -> tuple[tuple[Policy, ...], tuple[Any, ...], int]:
    """The policies of JSON documents, the other objects among these, and what one expression may cost."""
    documents = [json.loads(text) for text in texts]
    bindings = [_read_binding(document) for document in documents if is_binding(document)]
    policies = tuple(_read_or_mark(document, bindings) for document in documents if is_policy(document))
    return (
        policies,
        tuple(document for document in documents if not is_policy(document) and not is_binding(document)),
        share_budget(policies),
    )


def _read_binding(data: Fields) -> Binding:
    """A binding; one that can't be read asks nothing, as it couldn't in a cluster, where it couldn't be created."""
    try:
        return read_binding(data)
    except PolicyError:
        return Binding(str(lookup(data, ("metadata", "name"))), str(lookup(data, ("spec", "policyName"))), NO_WRITE, (DENY,))


def _read_or_mark(data: Fields, bindings: Iterable[Binding]) -> Policy:
    """A policy as the server asks it; its `trouble` says why it can't be asked. Raises: PolicyError without a usable name."""
    name = name_of(data)
    try:
        policy = read_policy(data, bindings, "")
    except PolicyError as error:
        return read_unusable_policy(data, name, f"the policy can't be used: {format_path(error.path)}: {error.text}")
    return policy._replace(trouble=find_trouble(policy))


def find_trouble(policy: Policy) -> str:
    """Explains why the server can't ask a policy, though `check` can; empty if it can."""
    unreadable = sorted(policy.reads & _NOT_ON_SERVER)
    return f"must not read {unreadable[0]}, which the server does not know; leave it to check" if unreadable else ""


def judge_by_policies(texts: tuple[str, ...], write: Write, facts: Facts, *, sure: bool = False) -> list[Finding]:
    """The findings of policies, given as JSON documents with their bindings and parameters.

    Where something is unknown, the failure policy decides, as for an expression with an error; `sure` findings are those that depend on
    nothing unknown, such as a parameter. A binding that only audits has no effect.
    """
    policies, objects, budget = _compile_policies(texts)
    known = known_facts(facts)
    values = {"facts": lambda _: known, "line": lambda _: str(facts.line)}
    unknown_facts = frozenset(facts._fields) - known.keys()

    def params(ref: ParamRef) -> list[Fields]:
        there = find_params(objects, ref)
        if sure and not there:
            raise UnknownError(f"its parameter, the {ref}, is not known")
        return there

    env = PolicyEnv(partial(find_namespace, objects), params, values, unknown_facts, budget)
    findings = []
    for policy in policies:
        for answer in ask(policy, write, env):
            unknown = answer.level is Level.NOT_EVALUATED
            if unknown and (sure or not (answer.is_error and policy.fails)):
                continue
            text = f"is not evaluated: {answer.text}" if unknown else answer.text
            level = Level.ERROR if unknown else answer.level
            findings.append(Finding(policy.rule, Cause.INVALID, level, answer.path or (), text))
    return findings
