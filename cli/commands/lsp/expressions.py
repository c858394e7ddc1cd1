"""Answers editors' requests inside expressions of policy files: what can be written at a place, and what a word there means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ....admission.userrules.names import VARIABLES, type_of_variable
from ....admission.userrules.policy import CHECK, CHECK_VERSION, POLICY_GROUP, Policy
from ....admission.userrules.read import is_policy, read_unusable_policy
from ....admission.userrules.schema_types import SchemaFields, type_of_kind
from ....admission.userrules.warn import list_names
from ....api.line import Line
from ....api.paths import Path, lookup
from ....cel import ParseError, compile_text
from ....cel.cursor import Symbol, fields_of, find_symbol, find_unwritten_symbol, list_functions
from ....cel.declarations import SPACES
from ....cel.types import DYN, StaticType
from ...yaml.load import Document, Source, read_text

_KEYS: Final = frozenset({"expression", "messageExpression", "valueExpression"})
_HEADER: Final = r"""['"]?{}['"]?[ \t]*:[ \t]*(?:[|>][-+0-9]*[^\n]*\n)?"""  # of a value behind its key
# what the names mean that no schema describes
_NAMES: Final = {
    "object": "the object with all defaults, in the matched version; null for a deletion",
    "oldObject": "the stored object of an update or a deletion; null otherwise",
    "request": "the request: operation, kind, name, namespace and user",
    "namespaceObject": "the Namespace of the object",
    "params": "the parameter that the Binding names",
    "variables": "the variables of the policy above this place",
    "authorizer": "the permissions of the user, which only a cluster knows",
    "pods": "the pod templates that the object renders to",
    "documents": "all objects of the input and of `rules-from`",
    "facts": "facts of the cluster",
    "line": "the operator release, such as `1.6`",
}


class ExpressionSymbol(NamedTuple):
    """Something that can be written in an expression: a name or field with its type, or a function with its signatures."""

    text: str
    type: str
    description: str
    is_function: bool = False


class _Expression(NamedTuple):
    """An expression of a policy that is being written, and the offset of the cursor in it."""

    policy: Policy
    data: dict[str, Any]
    path: Path
    text: str
    at: int


def list_words(source: Source, line: int, column: int, release: Line, minor: int) -> list[ExpressionSymbol] | None:
    """Lists what can be written at a place, by the schemas of an operator release, for a Kubernetes minor; None outside of expressions."""
    expression = _find(source, line, column)
    if expression is None:
        return None
    words: dict[str, ExpressionSymbol] = {}
    for names in _list_names(expression, release):
        place = find_unwritten_symbol(expression.text, expression.at, names)
        for word in () if place is None else _words(place, 0 if expression.policy.kind == CHECK else minor):
            words.setdefault(word.text, word)
    return list(words.values())


def describe_word(source: Source, line: int, column: int, release: Line) -> str:
    """Describes the word at a place, as Markdown; empty outside of expressions, and for what has no name."""
    expression = _find(source, line, column)
    if expression is None:
        return ""
    for names in _list_names(expression, release):
        place = find_symbol(expression.text, expression.at, names)
        if place is None or (place.owner is not None and place.type is DYN and place.name not in fields_of(place.owner)):
            continue  # this kind has no such field; another one may
        if place.type is None:
            signatures = list_functions(place).get(place.name, [])
            return "```\n" + "\n".join(signatures) + "\n```\n" if signatures else ""
        about = _NAMES.get(place.name, "") if place.owner is None else _describe(place.owner, place.name)
        return f"`{place.name}`: {place.type}\n" + (f"\n{about}\n" if about else "")
    return ""


def _find(source: Source, line: int, column: int) -> _Expression | None:
    """The expression at a place of a policy file."""
    if not (source.holds(POLICY_GROUP) or source.holds(CHECK_VERSION)):
        return None
    documents = [
        document for document in read_text(source) if isinstance(document, Document) and document.path_at(line, column) is not None
    ]
    path = (documents[-1].path_at(line, column) or ()) if documents else ()
    match path:
        case ("spec", str(), int(), key) if key in _KEYS and is_policy(documents[-1].data):
            pass
        case _:
            return None
    document, text = documents[-1], lookup(documents[-1].data, path)
    at = _offset(document, path, text, line, column) if isinstance(text, str) else None
    policy = read_unusable_policy(document.data, "policy", "being written")
    return None if at is None else _Expression(policy, document.data, path, str(text), at)


def _offset(document: Document, path: Path, text: str, line: int, column: int) -> int | None:
    """The offset in a text that corresponds to a place in the file; None before the text.

    Its characters are looked for one after the other in the file, which may have quotes, escapes, indents and line breaks between them.
    """
    source = document.source
    cursor, key = source.starts[line - 1] + column - 1, document.position(path)
    header = re.compile(_HEADER.format(re.escape(str(path[-1])))).match(source.text, source.starts[key.line - 1] + key.column - 1)
    if header is None or cursor < header.end():
        return None
    place, before = header.end(), (-1, -1)  # the last character before the cursor: its offset in the text, and in the file
    for offset, character in enumerate(text):
        if character.isspace():
            continue
        place = source.text.find(character, place)
        if place < 0 or place >= cursor:
            return before[0] + 1 if before[1] == cursor - 1 else offset
        before, place = (offset, place), place + 1
    return before[0] + 1 if before[1] == cursor - 1 else len(text)


def _list_names(expression: _Expression, release: Line) -> Iterator[Mapping[str, StaticType]]:
    """The names that the expression may use, with their types, for each kind and version that the policy is about."""
    policy, known = expression.policy, False
    for kind, _, version in (place.partition("/") for place in policy.match.list_kind_versions()):
        try:
            names = list_names(policy.kind, type_of_kind(kind, version, release), policy.param, release)
        except KeyError:  # of a later release
            continue
        known = True
        yield _with_variables(expression, names)
    if not known:
        yield _with_variables(expression, list_names(policy.kind, DYN, policy.param, release))


def _with_variables(expression: _Expression, names: dict[str, StaticType]) -> dict[str, StaticType]:
    """The names, with the variables above the expression; conditions have none."""
    if expression.path[1] == "matchConditions":
        return names
    variables = lookup(expression.data, ("spec", "variables"))
    types: dict[str, StaticType] = {}
    names = {**names, VARIABLES: StaticType(VARIABLES, (), types)}
    above = int(expression.path[2]) if expression.path[1] == "variables" else None
    for variable in variables[:above] if isinstance(variables, list) else ():
        if isinstance(variable, dict) and isinstance(variable.get("name"), str):
            types[variable["name"]] = _type_of(variable.get("expression"), names)
    return names


def _type_of(expression: object, names: Mapping[str, StaticType]) -> StaticType:
    try:
        return type_of_variable(compile_text(str(expression), names).check(names).type)
    except ParseError:
        return DYN


def _words(place: Symbol, minor: int) -> Iterator[ExpressionSymbol]:
    if place.owner is not None:
        yield from (
            ExpressionSymbol(name, str(static_type), _describe(place.owner, name)) for name, static_type in fields_of(place.owner).items()
        )
    elif not place.space:
        yield from (
            ExpressionSymbol(name, str(static_type), _NAMES.get(name, "")) for name, static_type in place.names.items() if "." not in name
        )
        yield from (ExpressionSymbol(space, "", f"functions such as `{space}.…`") for space in SPACES)
    for name, signatures in list_functions(place, minor).items():
        yield ExpressionSymbol(name, signatures[0], "\n".join(signatures), is_function=True)


def _describe(owner: StaticType, name: str) -> str:
    """The description of a field by its schema."""
    fields = fields_of(owner)
    return fields.describe(name) if isinstance(fields, SchemaFields) else ""
