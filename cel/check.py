"""Checks the types of an expression before it is evaluated, as an API server does when a policy is created."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from .check_macros import MACROS
from .declarations import DECLARED, NAMES, OPERATORS, SINCE, SINCE_MODULE, SINCE_TWO_VARIABLES, split
from .errors import EvaluationError, ParseError
from .lexer import wrong_at
from .overloads import choose, find
from .parser import Tree, dotted_name
from .types import BOOL, DYN, ERROR, INT, StaticType, Unifier, is_more_general, is_same, make_type, read_type, rename
from .values import TYPES, Uint, type_of

_CONVERSIONS: Final = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
_PATTERNS: Final = frozenset({"matches", "find", "findAll"})
_WRITTEN: Final = {"?:": "_?_:_", "!": "!_", "neg": "-_", "[]": "_[_]", "[?]": "_[?_]", "in": "@in"}  # how an API server names operators
_ACCUMULATOR: Final = "__result__"
_KEYS: Final = (str, int, Uint, float, bool)  # Python's types of constants that are allowed in brackets
_NOTHING: Final = object()  # the value of a node that is no constant


class _Overload(NamedTuple):
    since: int
    parameters: tuple[StaticType, ...]
    result: StaticType


@cache
def _overloads(name: str, of_value: bool) -> tuple[_Overload, ...]:
    """The overloads of a function or an operator."""
    return tuple(_Overload(since, *map_types(parameters, result)) for since, parameters, result in _signatures().get((name, of_value), ()))


@cache
def _signatures() -> dict[tuple[str, bool], list[tuple[int, str, str]]]:
    by_name: dict[tuple[str, bool], list[tuple[int, str, str]]] = {}
    for module, signatures in (*DECLARED.items(), ("", OPERATORS)):
        for name, of_value, parameters, result in map(split, signatures):
            since = SINCE.get(name, SINCE_MODULE.get(module, 0))
            by_name.setdefault((name, of_value), []).append((since, parameters, result))
    return by_name


def map_types(parameters: str, result: str) -> tuple[tuple[StaticType, ...], StaticType]:
    """The types of a signature."""
    taken = read_type(f"of({parameters})").of if parameters else ()
    return tuple(map(_in_full, taken)), _in_full(read_type(result))


def _in_full(kind: StaticType) -> StaticType:
    """A type with the names that the language has for it and its parts."""
    return kind if kind.is_parameter else make_type(NAMES.get(kind.name, kind.name), *map(_in_full, kind.of))


class CheckResult(NamedTuple):
    """The type of an expression, and its errors."""

    type: StaticType
    faults: tuple[ParseError, ...]


def check_tree(text: str, tree: Tree, names: Mapping[str, StaticType], minor: int = 0) -> CheckResult:
    """Checks the tree of a text whose names have types; 0 is any minor release of Kubernetes."""
    checker = Checker(text, names, minor)
    try:
        result = checker.unifier.resolve(checker.type_of(tree), unbound=DYN)
        faults = checker.faults or [*checker.mixed(), *checker.late]
    except RecursionError:
        return CheckResult(ERROR, (ParseError("the expression must not be nested as deeply"),))
    return CheckResult(result, tuple(faults))


class Checker:
    """Finds the types of one tree. `late` are faults that an API server looks for only where the types are right."""

    def __init__(self, text: str, names: Mapping[str, StaticType], minor: int) -> None:
        self.text, self.names, self.minor = text, names, minor
        self.unifier = Unifier()
        self.faults: list[ParseError] = []
        self.late: list[ParseError] = []
        self.scope: dict[str, StaticType] = {}
        self.literals: list[tuple[Tree, tuple[StaticType, ...]]] = []  # lists and maps, with the types of their entries
        self.formats: list[Tree] = []  # calls of `format` on a literal text with a literal list of arguments
        self.in_formats = 0  # how many calls of `format` the node is in
        self.types: dict[int, StaticType] = {}
        self.constants: dict[int, Any] = {}

    def type_of(self, tree: Tree) -> StaticType:
        """The type of a node."""
        result_type: StaticType = getattr(self, "_" + tree.kind)(tree)
        self.types[id(tree)] = result_type
        return result_type

    def fault(self, tree: Tree, sentence: str) -> StaticType:
        """Records an error at a node."""
        self.faults.append(wrong_at(self.text, tree.at, sentence))
        return ERROR

    def _late(self, tree: Tree, sentence: str) -> None:
        """Records an error that an API server looks for only if the types are right."""
        self.late.append(wrong_at(self.text, tree.at, sentence))

    def _const(self, tree: Tree) -> StaticType:
        self.constants[id(tree)] = tree.value
        return make_type(type_of(tree.value).name)

    def _ident(self, tree: Tree) -> StaticType:
        if tree.name in self.scope and not tree.value:
            return self.scope[tree.name]
        return self._root(tree, tree.name) or self.fault(tree, f"undeclared reference to '{tree.name}' (in container '')")

    def _root(self, tree: Tree, name: str) -> StaticType | None:
        """The type of a name that isn't a variable of a macro."""
        if name in self.names:
            return self.names[name]
        if name not in TYPES:
            return None
        self.constants[id(tree)] = TYPES[name]
        item_types = {"list": (DYN,), "map": (DYN, DYN), "optional_type": (DYN,)}.get(name, ())
        return make_type("type", make_type(name, *item_types))

    def _select(self, tree: Tree) -> StaticType:
        name = dotted_name(tree, self.scope)
        known = self._root(tree, name) if name is not None else None
        return known or self._field(tree, is_optional=bool(tree.value))

    def _field(self, tree: Tree, *, is_optional: bool = False) -> StaticType:
        """The type of a field that is selected."""
        if not tree.name.isidentifier():
            self.fault(tree, f"unsupported syntax: '`{tree.name}`'")
        target = self.unifier.resolve(self.type_of(tree.below[0]))
        if target.name == "optional_type":
            target, is_optional = target.of[0], True
        if target.name == "map":
            field_type = target.of[1]
        elif target.fields is not None:
            field_type = target.fields.get(tree.name) or self.fault(tree, self._undefined(tree.name, target.name, target.fields))
        elif target.is_parameter:
            self.unifier.fit((DYN,), (target,))
            field_type = DYN
        else:
            field_type = DYN
            if target is not DYN and target is not ERROR:
                self.fault(tree, f"type '{target}' does not support field selection")
        return make_type("optional_type", field_type) if is_optional else self.unifier.resolve(field_type)

    def _undefined(self, name: str, within: str, known: Mapping[str, object]) -> str:
        from difflib import get_close_matches

        close = get_close_matches(name, known, 1)
        return f"undefined field '{name}' in {within}{f', did you mean {close[0]}?' if close else ''}"

    def _index(self, tree: Tree) -> StaticType:
        operands = [self.type_of(node) for node in tree.below]
        key = self.constants.get(id(tree.below[1]), "")
        if type(key) not in _KEYS:
            self._late(tree.below[1], f"invalid qualifier type: {type_of(key).name}")
        return self.apply_overload(tree, "[?]" if tree.value else "[]", *operands)

    def _or(self, tree: Tree) -> StaticType:
        answers = [self.must_be_bool(node) for node in tree.below]
        return BOOL if all(answers) else ERROR

    _and = _or

    def must_be_bool(self, tree: Tree) -> bool:
        """Whether a node may be true or false."""
        kind = self.type_of(tree)
        fits = self.unifier.fit((kind,), (BOOL,))
        if not fits:
            self.fault(tree, f"expected type 'bool' but found '{self._resolve_type(kind)}'")
        return fits

    def _cond(self, tree: Tree) -> StaticType:
        return self.apply_overload(tree, "?:", *map(self.type_of, tree.below))

    def _not(self, tree: Tree) -> StaticType:
        return self.apply_overload(tree, "!", self.type_of(tree.below[0]))

    def _neg(self, tree: Tree) -> StaticType:
        return self.apply_overload(tree, "neg", self.type_of(tree.below[0]))

    def _chain(self, tree: Tree) -> StaticType:
        result = self.type_of(tree.below[0])
        for (sign, at), operand in zip(tree.value, tree.below[1:], strict=True):
            result = self.apply_overload(tree._replace(at=at), sign, result, self.type_of(operand))
        return result

    def _list(self, tree: Tree) -> StaticType:
        items: StaticType | None = None
        types = []
        for index, node in enumerate(tree.below):
            item = self._item_type(node, is_optional=bool(tree.value) and index in tree.value)
            types.append(item)
            items = self._join(items, item)
        self._note_literal(tree, types)
        return make_type("list", items or self.unifier.parameter())

    def _map(self, tree: Tree) -> StaticType:
        keys: StaticType | None = None
        items: StaticType | None = None
        types = []
        for index, (key, value) in enumerate(zip(tree.below[::2], tree.below[1::2], strict=True)):
            key_type = self.type_of(key)
            keys = self._join(keys, key_type)
            item = self._item_type(value, is_optional=bool(tree.value) and index in tree.value)
            items = self._join(items, item)
            types += [key_type, item]
        self._note_literal(tree, types)
        return make_type("map", keys or self.unifier.parameter(), items or self.unifier.parameter())

    def _note_literal(self, tree: Tree, types: list[StaticType]) -> None:
        if not self.in_formats:
            self.literals.append((tree, tuple(types)))
        if all(id(node) in self.constants for node in tree.below):
            self.constants[id(tree)] = [] if tree.kind == "list" else {}  # whose content no conversion reads

    def _item_type(self, tree: Tree, *, is_optional: bool) -> StaticType:
        """The type of an item; of one behind a question mark, what its optional holds."""
        kind = self.type_of(tree)
        if not is_optional:
            return kind
        if kind.name == "optional_type":
            return kind.of[0]
        # an API server breaks off at an item of any type, but for one that `format` is given
        if kind is not DYN or not self.in_formats:
            note = self.fault if kind is not DYN else self._late
            note(tree, f"expected type 'optional_type({kind})' but found '{kind}'")
        return kind

    def _join(self, before: StaticType | None, item: StaticType) -> StaticType:
        """The type of items of one type and another."""
        if before is None or not self.unifier.fit((before,), (item,)):
            # an API server takes items of several types for dyn, and finds them mixed later
            return item if before is None else DYN
        return before if is_more_general(before, item) else item

    def _call(self, tree: Tree) -> StaticType:
        if tree.name == "has" and not tree.value and len(tree.below) == 1:
            self._field(tree.below[0])
            return BOOL
        macro = MACROS.get((tree.name, len(tree.below) - 1)) if tree.value else None
        if macro is not None:
            check, variables = macro
            if variables == 2:
                self._is_newer(tree, SINCE_TWO_VARIABLES, f"the macro {tree.name} with two variables")
            outer = self.scope
            result_type = check(self, tree, variables)
            self.scope = outer
            return result_type
        name, below, of_value = tree.name, tree.below, bool(tree.value)
        space = dotted_name(below[0], self.scope) if of_value else None
        if space is not None and _overloads(f"{space}.{name}", False):
            name, below, of_value = f"{space}.{name}", below[1:], False
        if name == "format" and of_value:
            return self._format(tree)
        result = self.apply_overload(tree, name, *map(self.type_of, below), of_value=of_value)
        self._constant(tree, name, below, of_value=of_value)
        return result

    def _format(self, tree: Tree) -> StaticType:
        """A call of `format`, whose arguments may be mixed."""
        self.in_formats += 1
        operands = [self.type_of(node) for node in tree.below]
        self.in_formats -= 1
        text, *arguments = tree.below
        if text.kind == "const" and type(text.value) is str and len(arguments) == 1 and arguments[0].kind == "list":
            self.formats.append(tree)
        return self.apply_overload(tree, "format", *operands, of_value=True)

    def _is_newer(self, tree: Tree, since: int, what: str) -> bool:
        """Whether something is newer than the oldest release of Kubernetes, which is a fault."""
        if not 0 < self.minor < since:
            return False
        self.fault(tree, f"{what} needs Kubernetes 1.{since} or newer; --kubernetes names the oldest that must take the policy")
        return True

    def apply_overload(self, tree: Tree, name: str, *operands: StaticType, of_value: bool = False) -> StaticType:
        """The type that a function or an operator makes of others."""
        known = _overloads(name, of_value)
        if not known and not _overloads(name, not of_value):
            return self.fault(tree, f"undeclared reference to '{name}' (in container '')")
        if known and self._is_newer(tree, min(candidate.since for candidate in known), name):
            return ERROR
        result: StaticType | None = None
        for overload in known:
            if len(overload.parameters) != len(operands) or (self.minor and overload.since > self.minor):
                continue
            fresh: dict[str, StaticType] = {}
            parameters = tuple(rename(each, fresh, self.unifier.parameter) for each in overload.parameters)
            if not self.unifier.fit(operands, parameters):
                continue
            result_type = self.unifier.resolve(rename(overload.result, fresh, self.unifier.parameter))
            if result is None:
                result = result_type
            elif result is not DYN and not is_same(result, result_type):
                result = DYN
        if result is not None:
            return result
        shown = [str(self._resolve_type(operand)) for operand in operands]
        call = f"{shown[0]}.({', '.join(shown[1:])})" if of_value else f"({', '.join(shown)})"
        written = _WRITTEN.get(name) or (name if name.replace(".", "_").isidentifier() else f"_{name}_")
        return self.fault(tree, f"found no matching overload for '{written}' applied to '{call}'")

    def _resolve_type(self, kind: StaticType) -> StaticType:
        return self.unifier.resolve(kind, unbound=DYN)

    def _constant(self, tree: Tree, name: str, below: tuple[Tree, ...], *, of_value: bool) -> None:
        """Looks at what an API server evaluates at once: conversions of constants, and regular expressions."""
        values = [self.constants.get(id(node), _NOTHING) for node in below]
        if name in _PATTERNS:
            # of the function, an API server takes the text for a pattern, too
            for index in range(name != "matches" or of_value, len(values)):
                if index < 2 and type(values[index]) is str:
                    self._pattern(below[index], values[index])
        if name not in _CONVERSIONS or of_value or len(values) != 1 or values[0] is _NOTHING:
            return
        if name in ("dyn", "type"):
            self.constants[id(tree)] = values[0] if name == "dyn" else type_of(values[0])
            return
        chosen = choose(find(name, of_value=False) or (), values)
        try:
            if chosen is not None:
                self.constants[id(tree)] = chosen.run(*values)
                return
            error = f"no such overload: {name}({type_of(values[0]).name})"
        except EvaluationError as wrong:
            error = str(wrong)
        self._late(below[0], f"invalid {name} argument: {error}")

    def _pattern(self, tree: Tree, pattern: str) -> None:
        from .regex.machine import read_pattern
        from .regex.syntax import RegexError

        try:
            read_pattern(pattern)
        except RegexError as error:
            self._late(tree, f"invalid matches argument: error parsing regexp: {error}")

    def mixed(self) -> list[ParseError]:
        """Lists and maps whose items have several types, and calls of `format` whose arguments don't fit."""
        faults = []
        for tree, types in self.literals:
            step = 2 if tree.kind == "map" else 1
            for place in range(step):
                firsts = [self._resolve_type(item_type) for item_type in types[place::step]]
                for kind, node in zip(firsts[1:], tree.below[place::step][1:], strict=True):
                    if not is_same(kind, firsts[0]):
                        faults.append(wrong_at(self.text, node.at, f"expected type '{firsts[0]}' but found '{kind}'"))
                        break
        if self.formats:
            from .check_format import check_format

            for tree in self.formats:
                wrong = check_format(tree, lambda part: self._resolve_type(self.types[id(part)]))
                faults += [wrong_at(self.text, wrong[0].at, wrong[1])] if wrong else []
        return faults

    def loop(self, tree: Tree, variables: int) -> list[Tree]:
        """Opens the scope of a macro, and returns the arguments after its variables."""
        range_type = self.unifier.resolve(self.type_of(tree.below[0]))
        types: tuple[StaticType, ...]
        if range_type.name == "list":
            types = (INT, range_type.of[0]) if variables == 2 else (range_type.of[0],)
        elif range_type.name == "map":
            types = range_type.of[:variables]
        else:
            types = (DYN, DYN)
            if range_type is not DYN and range_type is not ERROR and not range_type.is_parameter:
                self.fault(
                    tree.below[0], f"expression of type '{range_type}' cannot be range of a comprehension (must be list, map, or dynamic)"
                )
                types = (ERROR, ERROR)
            self.unifier.fit((DYN,), (range_type,))
        self.bind(tree.below[1 : 1 + variables], types)
        return list(tree.below[1 + variables :])

    def bind(self, names: tuple[Tree, ...], types: tuple[StaticType, ...]) -> None:
        """Gives names of a macro their types."""
        for ident in names:
            if ident.name == _ACCUMULATOR:
                self.fault(ident, "iteration variable overwrites accumulator variable")
        self.scope = {**self.scope, **{node.name: kind for node, kind in zip(names, types, strict=False)}}

    def gather(self, tree: Tree, result_type: StaticType, make: Callable[[StaticType], StaticType], tests: list[Tree]) -> StaticType:
        """The type of what a macro gathers: `result_type` is that of nothing, `make` says what an item makes of it, a test keeps some."""
        kept = [self.type_of(test) for test in tests]
        step = make(result_type)
        if kept:
            step = self.apply_overload(tree, "?:", *kept, step, result_type)
        if not self.unifier.fit((result_type,), (step,)):
            self.fault(tree, f"expected type '{self._resolve_type(result_type)}' but found '{self._resolve_type(step)}'")
        return self.unifier.resolve(result_type)
