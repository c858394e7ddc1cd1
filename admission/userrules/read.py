"""Makes policies and bindings of plain documents. Expressions are compiled here: a mistake is reported before any object is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from ...api.walk.metadata import is_qualified, is_subdomain
from ...cel.parser import NO_NAMES
from ...cel.types import DYN
from .expressions import BOOL, STRING, STRING_OR_NULL, Expressions
from .names import CHECK_NAMES, NAMES, VARIABLES
from .policy import (
    ACTIONS,
    BINDING,
    CHECK,
    CHECK_VERSION,
    DENY,
    EVERYTHING,
    INVALID,
    NO_WRITE,
    POLICY,
    POLICY_GROUP,
    WARN,
    Binding,
    Expression,
    Match,
    Policy,
    PolicyError,
    Requirement,
    ResourceRule,
    Selector,
    Validation,
    rule_of,
)
from .reader import Reader, is_label_value

MAX_ENTRIES: Final = 500  # validations or variables of one policy
MAX_CONDITIONS: Final = 64  # these and the next as for an API server
MAX_AUDIT_ANNOTATIONS: Final = 20
MAX_AUDIT_EXPRESSION_BYTES: Final = 5 * 1024
_SPEC: Final = ("failurePolicy", "matchConditions", "matchConstraints", "paramKind", "validations", "variables", "auditAnnotations")
_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STEP: Final = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\d+)\]|\[['\"]([^'\"\]]+)['\"]\]")
_WORD: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_BREAK: Final = re.compile(r"[\n\r]")
_NO_SEGMENT: Final = re.compile("[/%]")
ANYTHING: Final = "*"


def is_policy(data: Any) -> bool:
    """Whether a document is a policy or a Check."""
    return _is(data, POLICY) or (isinstance(data, dict) and data.get("kind") == CHECK and data.get("apiVersion") == CHECK_VERSION)


def is_binding(data: Any) -> bool:
    """Whether a document is a binding."""
    return _is(data, BINDING)


def _is(data: Any, kind: str) -> bool:
    return isinstance(data, dict) and data.get("kind") == kind and str(data.get("apiVersion")).partition("/")[0] == POLICY_GROUP


def read_binding(data: Any) -> Binding:
    """Reads a ValidatingAdmissionPolicyBinding. Raises: PolicyError."""
    spec = Reader(data).at("spec")
    spec.fields("matchResources", "paramRef", "policyName", "validationActions")
    policy, ref = spec.at("policyName"), spec.at("paramRef")
    if not is_subdomain(policy.required()):
        raise policy.wrong("must be the name of a policy")
    return Binding(
        name_of(data),
        policy.text(),
        _match(spec.at("matchResources"), required=False),
        _actions(spec.at("validationActions")),
        *(_param_ref(ref) if ref.data is not None else ()),
    )


def _param_ref(ref: Reader) -> tuple[str, str, Selector | None, bool]:
    ref.fields("name", "namespace", "selector", "parameterNotFoundAction")
    name, selector = ref.at("name"), ref.at("selector")
    if bool(name.text()) == (selector.data is not None):
        raise ref.wrong("must have a name or a selector, one of them")
    if name.text() in (".", "..") or _NO_SEGMENT.search(name.text()):
        raise name.wrong("must be the name of an object")
    allows_missing = ref.at("parameterNotFoundAction").choice(("Allow", "Deny")) == "Allow"
    return name.text(), ref.at("namespace").text(), _selector(selector) if selector.data is not None else None, allows_missing


def read_policy(data: Any, bindings: Iterable[Binding], module: str, minor: int = 0) -> Policy:
    """Reads a policy or a Check, with the bindings that name it. Raises: PolicyError.

    `module` is the file that its page names, `minor` the oldest release of Kubernetes that must take a policy; 0 is any.
    """
    kind = str(data["kind"])
    name, spec = name_of(data), Reader(data).at("spec")
    spec.fields(*_SPEC, *(("validationActions",) if kind == CHECK else ()))
    param = _param(spec.at("paramKind"))
    names = {**NAMES, **({"params": DYN} if param else {}), **(CHECK_NAMES if kind == CHECK else {})}
    reading = Expressions(names, 0 if kind == CHECK else minor, takes_dyn=kind == CHECK)
    for variable in spec.at("variables").few(MAX_ENTRIES):
        variable.fields("name", "expression")
        called = variable.at("name").required()
        if not _IDENTIFIER.fullmatch(called) or called in NO_NAMES:
            raise variable.at("name").wrong("must be an identifier")
        if called in reading.variables:
            raise PolicyError((*variable.path, "name"), f"must be the only variable called {called}")
        reading.variable(variable.at("expression"), called)
    conditions = tuple(_conditions(spec.at("matchConditions"), reading))
    validations = tuple(_validation(entry, reading, kind) for entry in spec.at("validations").few(MAX_ENTRIES))
    audited = _audited(spec.at("auditAnnotations"), reading, name)
    if not validations and not audited:
        raise spec.at("validations").wrong("must have at least one validation")
    match = _match(spec.at("matchConstraints"), required=True)
    named = tuple(binding for binding in bindings if binding.policy == name) if kind == POLICY else ()
    bound = named or (Binding("", name, Match(), _actions(spec.at("validationActions"), (DENY,))),)
    facts = tuple(sorted(reading.facts))
    actions = {action for binding in bound for action in binding.actions}
    messages = [validation.message or f"must be true: {validation.expression.text.strip()}" for validation in validations] or [
        "only writes audit annotations"
    ]
    return Policy(
        name,
        kind,
        match,
        conditions,
        reading.variables,
        validations,
        spec.at("failurePolicy").choice(("Fail", "Ignore"), "Fail") == "Fail",
        param,
        bound,
        frozenset(reading.reads),
        facts,
        rule_of(name, match, facts, DENY if DENY in actions else WARN, data["metadata"], messages, module),
    )


def read_unusable_policy(data: Any, name: str, trouble: str) -> Policy:
    """A policy that can't be asked, with what can still be read of it: which writes it is about, and its failure policy."""
    spec = Reader(data).at("spec")
    match, param = NO_WRITE, None
    with suppress(PolicyError):
        match = _match(spec.at("matchConstraints"), required=True)
    with suppress(PolicyError):
        param = _param(spec.at("paramKind"))
    rule = rule_of(name, match, (), DENY, {}, [trouble], "")
    bound = (Binding("", name, Match(), (DENY,)),)
    fails = spec.at("failurePolicy").data != "Ignore"
    return Policy(name, str(data["kind"]), match, (), {}, (), fails, param, bound, frozenset(), (), rule, trouble)


def name_of(data: Any) -> str:
    """The name of a document. Raises: PolicyError."""
    named = Reader(data).at("metadata").at("name")
    name = named.required()
    if not is_subdomain(name):
        raise named.wrong("must be a DNS name in lower case")
    return name


def _conditions(reader: Reader, reading: Expressions) -> Iterator[tuple[str, Expression]]:
    seen: set[str] = set()
    for condition in reader.few(MAX_CONDITIONS):
        condition.fields("name", "expression")
        condition.at("name").required()
        yield condition.at("name").labels_key(), reading.expression(condition.at("expression"), BOOL, without=(VARIABLES,))
        condition.at("name").once(seen)


def _audited(reader: Reader, reading: Expressions, name: str) -> bool:
    """Reads what a policy writes into the audit log, which only a cluster does; whether there is anything."""
    seen: set[str] = set()
    for annotation in reader.few(MAX_AUDIT_ANNOTATIONS):
        annotation.fields("key", "valueExpression")
        if not is_qualified(f"{name}/{annotation.at('key').required()}"):
            raise annotation.at("key").wrong("must be a name such as team")
        annotation.at("key").once(seen)
        written = annotation.at("valueExpression")
        if (size := len(written.text().strip().encode())) > MAX_AUDIT_EXPRESSION_BYTES:
            raise PolicyError(written.path, f"must have at most {MAX_AUDIT_EXPRESSION_BYTES} bytes, got {size}")
        reading.expression(written, STRING_OR_NULL)
    return bool(seen)


def _validation(reader: Reader, reading: Expressions, kind: str) -> Validation:
    known = ("expression", "message", "messageExpression", "reason")
    reader.fields(*known, *(("fieldPath",) if kind == CHECK else ()))
    reason = reader.at("reason").choice(("Unauthorized", "Forbidden", INVALID, "RequestEntityTooLarge"), INVALID)
    message, path = reader.at("message").text(), reader.at("fieldPath")
    if message and not message.strip():
        raise reader.at("message").wrong("must not be blank")
    if _BREAK.search(message.strip()):
        raise PolicyError((*reader.path, "message"), "must be one line")
    computed = reader.at("messageExpression")
    return Validation(
        reading.expression(reader.at("expression"), BOOL),
        message,
        reading.expression(computed, STRING, without=("authorizer",)) if computed.data not in (None, "") else None,
        tuple(_steps(path)) if path.data is not None else None,
        reason,
    )


def _steps(reader: Reader) -> Iterator[str | int]:
    text, end = reader.required(), 0
    while end < len(text):
        match = _STEP.match(text, end)
        if match is None:
            raise reader.wrong("must be a path such as spec.components[0].replicas")
        yield int(match[2]) if match[2] else match[1] or match[3]
        end = match.end()


def _actions(reader: Reader, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    seen: set[str] = set()
    actions = tuple(item.choice(ACTIONS) for item in reader.items() if item.once(seen)) or default
    if not actions:
        raise reader.wrong(f"must have one or more of {', '.join(ACTIONS)}")
    if DENY in actions and WARN in actions:
        raise PolicyError(reader.path, "must not have both Deny and Warn")
    return actions


def _param(reader: Reader) -> tuple[str, str] | None:
    if reader.data is None:
        return None
    reader.fields("apiVersion", "kind")
    group, _, version = reader.at("apiVersion").required().rpartition("/")
    if (group and not is_subdomain(group)) or not _WORD.fullmatch(version):
        raise reader.at("apiVersion").wrong("must be an apiVersion such as v1 or example.com/v1")
    if not _WORD.fullmatch(reader.at("kind").required().lower()):
        raise reader.at("kind").wrong("must be a kind such as ConfigMap")
    return reader.at("apiVersion").text(), reader.at("kind").text()


def _match(reader: Reader, *, required: bool) -> Match:
    reader.fields("excludeResourceRules", "matchPolicy", "namespaceSelector", "objectSelector", "resourceRules")
    rules, excluded = (tuple(_resources(item) for item in reader.at(key).items()) for key in ("resourceRules", "excludeResourceRules"))
    if required and not rules:
        raise reader.at("resourceRules").wrong("must have at least one rule of resources")
    equivalent = reader.at("matchPolicy").choice(("Equivalent", "Exact"), "Equivalent") == "Equivalent"
    return Match(rules, excluded, equivalent, _selector(reader.at("namespaceSelector")), _selector(reader.at("objectSelector")))


def _resources(reader: Reader) -> ResourceRule:
    reader.fields("apiGroups", "apiVersions", "operations", "resourceNames", "resources", "scope")
    for key in ("apiGroups", "apiVersions", "operations", "resources"):
        texts = reader.at(key).texts()
        if not texts:
            raise reader.at(key).wrong("must have at least one entry")
        if "" in texts and key != "apiGroups":
            raise reader.at(key).wrong("must not have an empty entry")
        if len(texts) > 1 and key != "resources" and ANYTHING in texts:
            raise reader.at(key).wrong(f"must have nothing besides {ANYTHING}")
    _check_resources(reader.at("resources"))
    operations = frozenset(each.choice(_OPERATIONS) for each in reader.at("operations").items())
    groups, versions, names = (frozenset(reader.at(key).texts()) for key in ("apiGroups", "apiVersions", "resourceNames"))
    seen: set[str] = set()
    for name in reader.at("resourceNames").items():
        if name.once(seen) in (".", "..") or _NO_SEGMENT.search(name.text()):
            raise name.wrong("must be the name of an object")
    scope = reader.at("scope").choice((ANYTHING, "Namespaced", "Cluster"), ANYTHING)
    return ResourceRule(groups, versions, reader.at("resources").texts(), operations, names, scope)


def _check_resources(reader: Reader) -> None:
    """Sees to it that no resource is named twice by a star: with `pods/*`, not also `pods/log`."""
    texts = reader.texts()
    before: list[str] = []
    for item in reader.items():
        resource, slash, below = item.text().partition("/")
        if slash and (f"{resource}/*" in before or f"*/{below}" in before):
            raise item.wrong("must not be covered by an entry before it")
        before.append(item.text())
    plain = [text for text in texts if "/" not in text]
    if len(texts) > 1 and ("*/*" in texts or (ANYTHING in plain and plain[-1] != ANYTHING)):
        raise reader.wrong("must have nothing besides an entry that means everything")


def _selector(reader: Reader) -> Selector:
    reader.fields("matchLabels", "matchExpressions")
    labels = reader.at("matchLabels")
    requirements = [_requirement(Reader(key, (*labels.path, str(key))), "In", [labels.at(key)]) for key in labels.data or {}]
    for expression in reader.at("matchExpressions").items():
        expression.fields("key", "operator", "values")
        operator, values = expression.at("operator").choice(_OPERATORS), expression.at("values").items()
        if bool(values) != (operator in ("In", "NotIn")):
            raise expression.at("values").wrong("must have entries with In and NotIn, and none with Exists and DoesNotExist")
        requirements.append(_requirement(expression.at("key"), operator, values))
    return Selector(tuple(requirements)) if requirements else EVERYTHING


def _requirement(key: Reader, operator: str, values: list[Reader]) -> Requirement:
    for value in values:
        if not is_label_value(value.text()):
            raise value.wrong("must be the value of a label")
    return Requirement(key.labels_key(), operator, frozenset(entry.text() for entry in values))
