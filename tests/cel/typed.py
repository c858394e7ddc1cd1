"""Expressions by dice whose operands mostly have the types that they must have: some pass a type checker, and some nearly do."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from dynamo_webhooks.cel.declarations import DECLARED, OPERATORS, split
from dynamo_webhooks.cel.parser import NO_NAMES
from dynamo_webhooks.cel.types import StaticType

TYPED: Final = Path(__file__).with_name("typed.txt")  # expressions that are right or wrong by their types, each on a line
_ATOMS: Final[dict[str, tuple[str, ...]]] = {
    "bool": ("true", "false", "has(object.spec)", "request.dryRun", "object.spec.f == 1"),
    "int": ("1", "-2", "0x1F", "object.spec.n + 1", "size(object.metadata.name)", "namespaceObject.metadata.generation"),
    "uint": ("1u", "uint(2)", "uint(object.n)"),
    "double": ("1.5", "1e3", "double(1)"),
    "string": (
        "'a'",
        "''",
        '"b"',
        "request.namespace",
        "request.kind.group",
        "string(object.x)",
        "namespaceObject.metadata.name",
        "r'\\d'",
    ),
    "bytes": ("b'a'", "bytes('x')"),
    "null_type": ("null",),
    "timestamp": ("timestamp('2024-01-01T00:00:00Z')", "namespaceObject.metadata.creationTimestamp", "timestamp(0)"),
    "duration": ("duration('1h')", "duration(object.d)"),
    "dyn": ("object", "oldObject.spec", "object.spec.x", "dyn(1)", "request.options", "object.spec.a[0]"),
    "list": (
        "[]",
        "[1]",
        "['a', 'b']",
        "[1, 'a']",
        "[object.a]",
        "request.userInfo.groups",
        "namespaceObject.spec.finalizers",
        "[dyn(1), 2]",
    ),
    "map": (
        "{}",
        "{'a': 1}",
        "{1: 'a', 2: 'b'}",
        "{'a': object.b}",
        "request.userInfo.extra",
        "namespaceObject.metadata.labels",
        "{'a': 1, 'b': 'c'}",
    ),
    "type": ("int", "string", "type(1)", "list", "map", "net.IP", "google.protobuf.Timestamp", "dyn", "optional_type"),
    "optional": ("optional.none()", "optional.of(1)", "object.?spec", "object.?spec.?a[?0]", "{'a': 1}[?'a']", "request.?namespace"),
    "IP": ("ip('10.0.0.1')",),
    "CIDR": ("cidr('10.0.0.0/8')",),
    "Quantity": ("quantity('1Gi')",),
    "URL": ("url('https://e.com/a')",),
    "Semver": ("semver('1.2.3')",),
    "Format": ("format.dns1123Label()",),
    "Authorizer": ("authorizer",),
    "PathCheck": ("authorizer.path('/healthz')",),
    "GroupCheck": ("authorizer.group('apps')",),
    "ResourceCheck": ("authorizer.requestResource", "authorizer.group('').resource('pods')"),
    "Decision": ("authorizer.requestResource.check('get')",),
    "request": ("request", "request.kind", "request.userInfo", "namespaceObject", "namespaceObject.status.conditions[0]"),
}
_KINDS: Final = tuple(_ATOMS)
_CLAUSES: Final = ("%s", "%d", "%f", "%x", "%b", "%e", "%o", "%X", "%.2f", "%%", "%", "%q")
_PATTERNS: Final = ("'a+'", "'['", "'(?i)x'", "'x{2'", "'(?=a)'", "'\\\\d'")
_SIGNATURES: Final = tuple(map(split, (signature for signatures in (*DECLARED.values(), OPERATORS) for signature in signatures)))


class TypedWriter:
    """Writes expressions of a type; each operand has another one once in so many times."""

    def __init__(self, dice: Random, wrong: float = 0.05) -> None:
        self._dice, self._wrong = dice, wrong
        self._names: list[str] = []

    def write(self, kind: str, depth: int = 3) -> str:
        """An expression of a kind."""
        kind = kind.partition("(")[0]
        if kind in "ABKV":
            kind = self._dice.choice(("int", "string", "dyn", "bool"))
        if self._dice.random() < self._wrong:
            kind = self._dice.choice(_KINDS)
        if depth <= 0 or self._dice.random() < 0.15:
            return self._dice.choice((*_ATOMS[kind], *self._names[-2:]) if self._dice.random() < 0.5 else _ATOMS[kind])
        below = depth - 1
        makes: list[Callable[[], str]] = [lambda: self._called(kind, below)] * 4
        makes += [lambda: f"({self.write('bool', below)} ? {self.write(kind, below)} : {self.write(kind, below)})"]
        if kind in _MORE:
            makes += [lambda: self._dice.choice(_MORE[kind])(self, below)] * 3
        return self._dice.choice(makes)()

    def _called(self, kind: str, below: int) -> str:
        fitting = [signature for signature in _SIGNATURES if signature[3].partition("(")[0] in (kind, "A", "V", "K", "B")]
        if not fitting:
            return self.write(kind, 0)
        name, of_value, given, _ = self._dice.choice(fitting)
        operands = [self.write(operand, below) for operand in _cut(given)]
        if self._dice.random() < 0.02 and operands:
            operands.pop()
        if name in ("matches", "find", "findAll") and len(operands) > 1 and self._dice.random() < 0.5:
            operands[1] = self._dice.choice(_PATTERNS)
        if name == "?:":
            return f"({' ? '.join(operands[:2])} : {operands[-1]})"
        if name in ("[]", "[?]"):
            return f"{operands[0]}{name[:-1]}{operands[-1]}]"
        if name == "insert":
            return f"{operands[0]}.transformMap(k, v, {operands[-1]})" if operands else "{}"
        if name in ("!", "neg"):
            return f"{'!' if name == '!' else '-'}{''.join(operands)}"
        if not name.replace(".", "_").isidentifier() or name == "in":
            return f"({f' {name} '.join(operands)})"
        if of_value and operands:
            return f"{operands[0]}.{name}({', '.join(operands[1:])})"
        return f"{name}({', '.join(operands)})"

    def macro(self, below: int, name: str, variables: int, wanted: tuple[str, ...]) -> str:
        """A call of a macro with a body for each of the wanted kinds."""
        ranged = self.write(self._dice.choice(("list", "list", "map", "dyn")), below)
        names = [f"v{len(self._names) + place}" for place in range(variables)]
        if self._dice.random() < 0.02:
            names[0] = self._dice.choice(("__result__", "object", "a.b", "1", names[-1]))
        self._names += names
        bodies = [self.write(kind, below) for kind in wanted]
        del self._names[-variables:]
        return f"{ranged}.{name}({', '.join((*names, *bodies))})"

    def shaped(self, below: int) -> str:
        """A call of `format`."""
        clauses = [self._dice.choice(_CLAUSES) for _ in range(self._dice.randrange(3))]
        kinds = [self._dice.choice(("string", "int", "double", "list", "bool", "map", "Quantity", "timestamp", "dyn")) for _ in clauses]
        if self._dice.random() < 0.15:
            kinds.append("int")
        if self._dice.random() < 0.6:  # fitting ones
            clauses, kinds = ["%s", "%d"], [kinds[0] if kinds else "string", "int"]
        return f"'{' '.join(clauses)}'.format([{', '.join(self.write(kind, below) for kind in kinds)}])"

    def of_optional(self, below: int) -> str:
        """A macro about what an optional holds."""
        name = self._dice.choice(("optMap", "optFlatMap"))
        target = self.write("optional", below)
        self._names.append("o")
        body = self.write("optional" if name == "optFlatMap" else "dyn", below)
        self._names.pop()
        return f"{target}.{name}(o, {body})"

    def selected(self, below: int) -> str:
        """A field of something."""
        of = self.write(self._dice.choice(("map", "dyn", "request", "optional", "list")), below)
        return f"{of}{self._dice.choice(('.', '.', '.?'))}{self._dice.choice(('a', 'name', 'group', 'spec', 'labels'))}"

    def literal(self, below: int) -> str:
        """A list or a map."""
        kinds = [self._dice.choice(("int", "string", "dyn"))] * self._dice.randrange(1, 4)
        mark, key = "?" if self._dice.random() < 0.1 else "", "string"
        if self._dice.random() < 0.5:
            return f"[{mark}{', '.join(self.write(kind, below) for kind in kinds)}]"
        return f"{{{', '.join(f'{mark}{self.write(key, 0)}: {self.write(kind, below)}' for kind in kinds)}}}"


def _cut(given: str) -> list[str]:
    """The types of a list of types."""
    kinds, level = [""], 0
    for char in given:
        level += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and not level:
            kinds.append("")
        elif char != " ":
            kinds[-1] += char
    return [kind for kind in kinds if kind]


_More = Callable[[TypedWriter, int], str]
_MORE: Final[dict[str, tuple[_More, ...]]] = {
    "bool": (
        *(lambda writer, below, name=name: writer.macro(below, name, 1, ("bool",)) for name in ("all", "exists", "exists_one")),
        *(lambda writer, below, name=name: writer.macro(below, name, 2, ("bool",)) for name in ("all", "exists", "existsOne")),
        lambda writer, below: f"({writer.write('bool', below)} && {writer.write('bool', below)} || {writer.write('bool', below)})",
        lambda writer, below: f"has({writer.selected(below)})",
    ),
    "list": (
        lambda writer, below: writer.macro(below, "map", 1, ("dyn",)),
        lambda writer, below: writer.macro(below, "map", 1, ("bool", "int")),
        lambda writer, below: writer.macro(below, "filter", 1, ("bool",)),
        lambda writer, below: writer.macro(below, "transformList", 2, ("string",)),
        lambda writer, below: writer.literal(below),
    ),
    "map": (
        lambda writer, below: writer.macro(below, "transformMap", 2, ("string",)),
        lambda writer, below: writer.macro(below, "transformMap", 2, ("bool", "int")),
        lambda writer, below: writer.macro(below, "transformMapEntry", 2, ("map",)),
        lambda writer, below: writer.literal(below),
    ),
    "string": (lambda writer, below: writer.shaped(below), lambda writer, below: writer.shaped(below)),
    "optional": (lambda writer, below: writer.of_optional(below),),
    "dyn": (lambda writer, below: writer.selected(below), lambda writer, below: writer.literal(below)),
}


class FieldWriter:
    """Writes expressions about the fields of a structure, of which some are misspelt, or compared with another type."""

    def __init__(self, dice: Random, wrong: float = 0.15) -> None:
        self._dice, self._wrong = dice, wrong

    def about(self, at: str, kind: StaticType, depth: int = 6) -> str:
        """Something that is true or false of a value."""
        if kind.fields is not None and depth and kind.fields:
            field = self._dice.choice([key for key in kind.fields if key.isidentifier() and key not in _OPEN])
            below = kind.fields[field]
            if self._dice.random() < self._wrong:
                field = self._dice.choice((field[:-1], f"{field}s", field.upper(), f"{field}x"))
            if field in NO_NAMES or not field:
                return f"{at} != null"
            guard = self._dice.choice(("", "", f"!has({at}.{field}) || ", f"has({at}.{field}) && "))
            return f"{guard}{self.about(f'{at}.{field}', below, depth - 1)}"
        name = f"v{depth}"
        if kind.name == "list" and depth:
            inner = self.about(name, kind.of[0], depth - 1)
            return self._dice.choice(
                (f"{at}.all({name}, {inner})", f"{at}.exists({name}, {inner})", f"{at}[0] != {at}[1]", f"{at}.size() > 1")
            )
        if kind.name == "map" and depth:
            return self._dice.choice(
                (f"'a' in {at}", f"{self.about(f'{at}.a', kind.of[1], depth - 1)}", f"{at}.all({name}, {name} != '')", f"{at} == {{}}")
            )
        fits = kind.name == "dyn" or self._dice.random() > self._wrong
        return f"{at} == {self._dice.choice(_EQUAL.get(kind.name, ('null',)) if fits else _OTHERS)}"


_OTHERS: Final = ("1", "null", "[1]", "b'x'")
_OPEN: Final = ("parameters",)  # without a type, which an API server knows nothing of
_EQUAL: Final = {"string": ("'a'",), "int": ("1",), "bool": ("true",), "double": ("1.5",)}
