"""Makes policies and bindings of plain documents. Expressions are compiled here: a mistake is reported before any object is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ...api.paths import Path
from ...api.wording import article, shorten
from ...cel import ParseError, compile_text
from ...policies.facts import Facts
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

MAX_EXPRESSION_CHARACTERS: Final = 16_384
MAX_ENTRIES: Final = 500  # validations, conditions or variables of one policy
_SPEC: Final = ("failurePolicy", "matchConditions", "matchConstraints", "paramKind", "validations", "variables", "auditAnnotations")
_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_NAMES: Final = ("object", "oldObject", "request", "namespaceObject", "variables", "authorizer")
_CHECK_NAMES: Final = ("pods", "documents", "facts", "line")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE: Final = re.compile(r"\bvariables\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)")
_FACT: Final = re.compile(r"\bfacts\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)")
_AUTHORIZER: Final = re.compile(r"\bauthorizer\s*\.")
_STEP: Final = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\d+)\]|\[['\"]([^'\"\]]+)['\"]\]")
_MAX_VALUE_CHARACTERS = 80  # of a wrong value in a message


class Reader:
    """A value at its place in a document."""

    def __init__(self, data: Any, path: Path = ()) -> None:
        """`path` is the value's own; None is read as absent."""
        self.data, self.path = data, path

    def fields(self, *known: str) -> None:
        """Sees to it that the value is a mapping of known keys. Raises: PolicyError, as do all others."""
        data = {} if self.data is None else self.data
        if not isinstance(data, dict):
            raise self.wrong("must be a mapping")
        for key in data:
            if key not in known:
                raise PolicyError((*self.path, str(key)), f"there is no such field here; known are {', '.join(known)}")

    def items(self) -> list[Reader]:
        """The value as a list."""
        data = [] if self.data is None else self.data
        if not isinstance(data, list):
            raise self.wrong("must be a list")
        return [Reader(one, (*self.path, index)) for index, one in enumerate(data)]

    def text(self) -> str:
        """The value as a string, empty where it is absent."""
        data = "" if self.data is None else self.data
        if not isinstance(data, str):
            raise self.wrong("must be a string")
        return data

    def required(self) -> str:
        """The value as a string that is not empty."""
        text = self.text()
        if not text.strip():
            raise self.wrong("must be a string that is not empty")
        return text

    def texts(self) -> tuple[str, ...]:
        """The value as a list of strings."""
        return tuple(one.text() for one in self.items())

    def choice(self, known: tuple[str, ...], default: str = "") -> str:
        """The value as one of some words."""
        if self.data is None and default:
            return default
        if self.data not in known:
            raise self.wrong(f"must be one of {', '.join(known)}")
        return str(self.data)

    def at(self, key: str) -> Reader:
        """The value of a key of a mapping that `fields` has read, or that may lack it."""
        data = self.data.get(key) if isinstance(self.data, dict) else None
        return Reader(data, (*self.path, key))

    def wrong(self, text: str) -> PolicyError:
        """The error for the value, which it shows."""
        if isinstance(self.data, (dict, list)):
            return PolicyError(self.path, f"{text}, got {article(self.data)}")
        return PolicyError(
            self.path, f"{text}, got {shorten(json.dumps(self.data, ensure_ascii=False, default=str), _MAX_VALUE_CHARACTERS)}"
        )


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
    ref = spec.at("paramRef")
    ref.fields("name", "namespace", "selector", "parameterNotFoundAction")
    allows_missing = ref.at("parameterNotFoundAction").choice(("Allow", "Deny"), "Deny") == "Allow"
    if ref.data is not None and (ref.at("name").data is None) == (ref.at("selector").data is None):
        raise ref.wrong("must have a name or a selector, one of them")
    return Binding(
        name_of(data),
        spec.at("policyName").required(),
        _match(spec.at("matchResources"), required=False),
        _actions(spec.at("validationActions")),
        ref.at("name").text(),
        ref.at("namespace").text(),
        _selector(ref.at("selector")) if ref.at("selector").data is not None else None,
        allows_missing,
    )


def read_policy(data: Any, bindings: Iterable[Binding], module: str) -> Policy:
    """Reads a policy or a Check, with the bindings that name it; `module` is the file that its page names. Raises: PolicyError."""
    kind = str(data["kind"])
    name, spec = name_of(data), Reader(data).at("spec")
    spec.fields(*_SPEC, *(("validationActions",) if kind == CHECK else ()))
    param = _param(spec.at("paramKind"))
    names = frozenset((*_NAMES, *(("params",) if param else ()), *(_CHECK_NAMES if kind == CHECK else ())))
    reading = _Expressions(names)
    for one in _few(spec.at("variables")):
        one.fields("name", "expression")
        called = one.at("name").required()
        if not _IDENTIFIER.fullmatch(called):
            raise one.at("name").wrong("must be an identifier")
        if called in reading.variables:
            raise PolicyError((*one.path, "name"), f"must be the only variable called {called}")
        reading.variables[called] = reading.expression(one.at("expression"))
    conditions = []
    for one in _few(spec.at("matchConditions")):
        one.fields("name", "expression")
        conditions.append((one.at("name").required(), reading.expression(one.at("expression"))))
    validations = tuple(_validation(one, reading, kind) for one in _few(spec.at("validations")))
    audited = [reading.expression(one.at("valueExpression")) for one in _few(spec.at("auditAnnotations"))]
    if not validations and not audited:
        raise spec.at("validations").wrong("must have at least one validation")
    match = _match(spec.at("matchConstraints"), required=True)
    found = tuple(one for one in bindings if one.policy == name) if kind == POLICY else ()
    bound = found or (Binding("", name, Match(), _actions(spec.at("validationActions"), (DENY,))),)
    facts = tuple(sorted(reading.facts))
    actions = {action for one in bound for action in one.actions}
    messages = [one.message or f"must be true: {one.expression.text.strip()}" for one in validations] or ["only writes audit annotations"]
    return Policy(
        name,
        kind,
        match,
        tuple(conditions),
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
    try:
        match = _match(spec.at("matchConstraints"), required=True)
    except PolicyError:
        match = NO_WRITE
    rule = rule_of(name, match, (), DENY, {}, [trouble], "")
    bound = (Binding("", name, Match(), (DENY,)),)
    fails = spec.at("failurePolicy").data != "Ignore"
    return Policy(name, str(data["kind"]), match, (), {}, (), fails, None, bound, frozenset(), (), rule, trouble)


def name_of(data: Any) -> str:
    """The name of a document. Raises: PolicyError."""
    named = Reader(data).at("metadata").at("name")
    name = named.required()
    if not _NAME.fullmatch(name):
        raise named.wrong("must be a DNS name in lower case")
    return name


class _Expressions:
    """Compiles the expressions of one policy, and remembers what they read."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.variables: dict[str, Expression] = {}
        self.reads: set[str] = set()
        self.facts: set[str] = set()

    def expression(self, reader: Reader) -> Expression:
        """One expression, which may read the variables above it."""
        text = reader.required()
        if len(text) > MAX_EXPRESSION_CHARACTERS:
            raise PolicyError(reader.path, f"must have at most {MAX_EXPRESSION_CHARACTERS} characters, got {len(text)}")
        try:
            program = compile_text(text, self.names)
        except ParseError as error:
            if _AUTHORIZER.search(text):  # the engine lacks its functions, which only a cluster can answer
                self.reads.add("authorizer")
                return Expression(compile_text("true", ()), text)
            raise PolicyError(reader.path, f"is not an expression of CEL: {error}", error.line, error.column) from None
        if "variables" in program.names:
            for found in _VARIABLE.finditer(text):
                if found[1] not in self.variables:
                    why = f"reads variables.{found[1]}, which is not defined above it"
                    raise PolicyError(reader.path, f"{why}; a variable reads only those before it", *_place(text, found.start()))
        if "facts" in program.names:
            for found in _FACT.finditer(text):
                if found[1] not in Facts._fields:
                    why = f"reads facts.{found[1]}, and there is no such fact"
                    raise PolicyError(reader.path, f"{why}; known are {', '.join(Facts._fields)}", *_place(text, found.start()))
                self.facts.add(found[1])
        self.reads |= program.names
        return Expression(program, text)


def _place(text: str, index: int) -> tuple[int, int]:
    before = text[:index]
    return before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1


def _validation(one: Reader, reading: _Expressions, kind: str) -> Validation:
    known = ("expression", "message", "messageExpression", "reason")
    one.fields(*known, *(("fieldPath",) if kind == CHECK else ()))
    reason = one.at("reason").choice(("Unauthorized", "Forbidden", INVALID, "RequestEntityTooLarge"), INVALID)
    message, path = one.at("message").text(), one.at("fieldPath")
    if "\n" in message.strip():
        raise PolicyError((*one.path, "message"), "must be one line")
    computed = one.at("messageExpression")
    return Validation(
        reading.expression(one.at("expression")),
        message,
        reading.expression(computed) if computed.data not in (None, "") else None,
        tuple(_steps(path)) if path.data is not None else None,
        reason,
    )


def _steps(reader: Reader) -> Iterator[str | int]:
    text, end = reader.required(), 0
    while end < len(text):
        found = _STEP.match(text, end)
        if found is None:
            raise reader.wrong("must be a path such as spec.components[0].replicas")
        yield int(found[2]) if found[2] else found[1] or found[3]
        end = found.end()


def _few(reader: Reader) -> list[Reader]:
    items = reader.items()
    if len(items) > MAX_ENTRIES:
        raise PolicyError(reader.path, f"must have at most {MAX_ENTRIES} entries, got {len(items)}")
    return items


def _actions(reader: Reader, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    actions = tuple(one.choice(ACTIONS) for one in reader.items()) or default
    if not actions:
        raise reader.wrong(f"must have one or more of {', '.join(ACTIONS)}")
    if DENY in actions and WARN in actions:
        raise PolicyError(reader.path, "must not have both Deny and Warn")
    return actions


def _param(reader: Reader) -> tuple[str, str] | None:
    if reader.data is None:
        return None
    reader.fields("apiVersion", "kind")
    return reader.at("apiVersion").required(), reader.at("kind").required()


def _match(reader: Reader, *, required: bool) -> Match:
    reader.fields("excludeResourceRules", "matchPolicy", "namespaceSelector", "objectSelector", "resourceRules")
    rules, excluded = (tuple(_resources(one) for one in reader.at(key).items()) for key in ("resourceRules", "excludeResourceRules"))
    if required and not rules:
        raise reader.at("resourceRules").wrong("must have at least one rule of resources")
    equivalent = reader.at("matchPolicy").choice(("Equivalent", "Exact"), "Equivalent") == "Equivalent"
    return Match(rules, excluded, equivalent, _selector(reader.at("namespaceSelector")), _selector(reader.at("objectSelector")))


def _resources(one: Reader) -> ResourceRule:
    one.fields("apiGroups", "apiVersions", "operations", "resourceNames", "resources", "scope")
    for key in ("apiGroups", "apiVersions", "operations", "resources"):
        if not one.at(key).items():
            raise one.at(key).wrong("must have at least one entry")
    operations = frozenset(each.choice(_OPERATIONS) for each in one.at("operations").items())
    groups, versions, names = (frozenset(one.at(key).texts()) for key in ("apiGroups", "apiVersions", "resourceNames"))
    scope = one.at("scope").choice(("*", "Namespaced", "Cluster"), "*")
    return ResourceRule(groups, versions, one.at("resources").texts(), operations, names, scope)


def _selector(reader: Reader) -> Selector:
    reader.fields("matchLabels", "matchExpressions")
    labels = reader.at("matchLabels")
    found = [Requirement(str(key), "In", frozenset((labels.at(key).text(),))) for key in labels.data or {}]
    for one in reader.at("matchExpressions").items():
        one.fields("key", "operator", "values")
        found.append(Requirement(one.at("key").required(), one.at("operator").choice(_OPERATORS), frozenset(one.at("values").texts())))
    return Selector(tuple(found)) if found else EVERYTHING
