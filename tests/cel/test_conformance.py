"""The engine answers the conformance cases of cel-spec, without those about protocol buffers."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.cel import DEFAULT_BUDGET, CelError, ParseError, compile_text
from dynamo_webhooks.cel.equality import equal
from dynamo_webhooks.cel.frame import Frame
from dynamo_webhooks.cel.values import Type, Uint, make_map, type_of

FOLDER: Final = Path(__file__).parent / "conformance"
# What only a message of protocol buffers has, or a container of names: Kubernetes has neither.
_OUTSIDE: Final = re.compile(
    rb"TestAllTypes|google\.protobuf\.(?!Timestamp|Duration)|cel\.expr\.conformance|GlobalEnum|proto[23]\.|\bValue\{"
)
# Where kube-apiserver 1.34 says something else (tests/cluster/cli/test_cel_limits.py), and ours as it does: of a key that comes again the
# last value stays; `format` is that of an older version of cel-go, with groups of digits, powers of ten and quotes; `indexOf`
# finds nothing behind the end of a text.
_OTHERWISE: Final = {
    "fields": ("map_value_repeat_key", "map_value_repeat_key_heterogeneous"),
    "string_ext": (
        *("indexof_out_of_range", "lastindexof_out_of_range"),
        *("scientific notation formatting clause", "scientific notation formatting clause in a string variable"),
        *(
            f"default precision for {form}"
            for form in ("fixed-point clause with int", "fixed-point clause with uint", "scientific notation")
        ),
        *(f"default precision for scientific notation with {kind}" for kind in ("int", "uint")),
        *(
            f"{sign} infinity support for {form}"
            for sign in ("positive", "negative")
            for form in ("decimal", "fixed-point", "scientific notation")
        ),
        *(
            "NaN support for decimal",
            "NaN support for scientific notation",
            "list support for string",
            "map support for string",
            "map support (all key types)",
        ),
        *(
            f"dyntype {what}"
            for what in ("support for scientific notation", "NaN/infinity support", "support for lists", "support for maps")
        ),
    ),
}
# what no check of names lets pass
_UNDECLARED: Final = ("basic/variables/unbound", "basic/functions/unbound", "parse/receiver_function_names/")
_VALUES_OUTSIDE: Final = ("type.googleapis", "object_value", "enum_value")


# a field may come often: each name has the list of its values
Message: TypeAlias = dict[str, list[Any]]

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<any>\[[\w./]+\])|(?P<word>[-+\w.]+)|(?P<sign>[{}:<>,;\[\]])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def read(text: str) -> Message:
    """Returns a message; texts are bytes, numbers and words are text."""
    words = list(_words(text))
    words.reverse()
    return _message(words, "")


def _words(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, text[at : at + 40]
        at = match.end()
        if match.lastgroup != "space":
            yield str(match.lastgroup), match[0]


def _message(words: list[tuple[str, str]], end: str) -> Message:
    message: Message = {}
    while words:
        _, name = words.pop()
        if name == end:
            return message
        if name in ",;":
            continue
        if words[-1][1] == ":":
            words.pop()
        values = message.setdefault(name, [])
        if words[-1][1] == "[":
            words.pop()
            while words[-1][1] != "]":
                if words[-1][1] == ",":
                    words.pop()
                values.append(_value(words))
            words.pop()
        else:
            values.append(_value(words))
    assert not end
    return message


def _value(words: list[tuple[str, str]]) -> Any:
    kind, word = words.pop()
    if word in ("{", "<"):
        return _message(words, "}" if word == "{" else ">")
    if kind != "text":
        return word
    parts = [word]
    while words and words[-1][0] == "text":
        parts.append(words.pop()[1])
    return b"".join(_ESCAPE.sub(_unescaped, part[1:-1].encode()) for part in parts)


def _unescaped(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, short, long, simple = match.groups()
    if octal or hexadecimal:
        return bytes([int(octal, 8) if octal else int(hexadecimal, 16)])
    if short or long:
        return chr(int(short or long, 16)).encode()
    return _SIMPLE.get(simple, simple)


class Case(NamedTuple):
    name: str
    message: Message


def _cases() -> Iterator[Case]:
    for file in sorted(FOLDER.glob("*.textproto")):
        for section in read(file.read_text())["section"]:
            for test in section.get("test", ()):
                yield Case(f"{file.stem}/{section['name'][0].decode()}/{test['name'][0].decode()}", test)


def _is_within(case: Case) -> bool:
    """Whether a case is of the language without protocol buffers and containers, and more than a question to a checker of types."""
    test = case.message
    contained = case.name.startswith("namespace/") and "container" in test
    values = repr(test.get("bindings")) + repr(test.get("value"))
    return (
        not contained
        and "check_only" not in test
        and not _OUTSIDE.search(test["expr"][0])
        and not any(word in values for word in _VALUES_OUTSIDE)
    )


def is_unchecked(case: Case) -> bool:
    """Whether a case uses a name that nobody declares: an API server always checks names, so the expression has no program."""
    return "disable_check" in case.message and case.name.startswith(_UNDECLARED)


CASES: Final = list(_cases())
WITHIN: Final = [case for case in CASES if _is_within(case)]


def _converted(value: Message) -> Any:
    """The value that a message of the cases says."""
    (kind, (content, *_)), *_ = value.items()
    match kind:
        case "int64_value":
            return int(content)
        case "uint64_value":
            return Uint(content)
        case "double_value":
            return float(content)
        case "bool_value":
            return content == "true"
        case "string_value":
            return content.decode()
        case "bytes_value":
            return content
        case "null_value":
            return None
        case "list_value":
            return [_converted(item) for item in content.get("values", ())]
        case "map_value":
            return make_map((_converted(entry["key"][0]), _converted(entry["value"][0])) for entry in content.get("entries", ()))
        case "type_value":
            return Type(content.decode())
    raise AssertionError(kind)


def bound(test: Message) -> dict[str, Any]:
    """What the names of a case stand for."""
    return {entry["key"][0].decode(): _converted(entry["value"][0]["value"][0]) for entry in test.get("bindings", ())}


def declared(test: Message) -> set[str]:
    """The names that a case may use."""
    return {*bound(test), *(entry["name"][0].decode() for entry in test.get("type_env", ()) if "ident" in entry)}


def _answer(test: Message) -> Any:
    """The engine's value for a case."""
    return compile_text(test["expr"][0].decode(), declared(test)).evaluate(bound(test))


def is_same(actual: Any, wanted: Any) -> bool:
    """Whether two values and their types are the same; what is no number is the same as itself."""
    unordered = wanted != wanted and actual != actual  # noqa: PLR0124 - NaN
    return type_of(actual) == type_of(wanted) and (unordered or equal(Frame({}, 0, DEFAULT_BUDGET), actual, wanted))


def test_the_cases_of_a_file_are_answered(subtests: pytest.Subtests) -> None:
    for file in sorted({case.name.split("/")[0] for case in WITHIN}):
        with subtests.test(file=file):
            cases = [case for case in WITHIN if case.name.startswith(f"{file}/") and not is_unchecked(case)]
            assert cases
            wrong = {case.name.split("/", 2)[2]: message for case in cases if (message := _wrong(case.message))}
            assert {name: reason for name, reason in wrong.items() if name not in _OTHERWISE.get(file, ())} == {}
            assert sorted(wrong) == sorted(_OTHERWISE.get(file, ()))


def _wrong(test: Message) -> str:
    """What is wrong with the answer."""
    try:
        answer = _answer(test)
    except CelError as error:
        return "" if "eval_error" in test or "any_eval_errors" in test else f"failed: {error}"
    if "eval_error" in test or "any_eval_errors" in test:
        return f"no error, but {answer!r}"
    wanted = _wanted(test)
    return "" if is_same(answer, wanted) else f"{answer!r}, not {wanted!r}"


def _wanted(test: Message) -> Any:
    if "typed_result" in test:
        return _converted(test["typed_result"][0]["result"][0])
    return _converted(test["value"][0]) if "value" in test else True


def test_a_name_that_nobody_declares_is_refused() -> None:
    cases = [case for case in WITHIN if is_unchecked(case)]
    assert len(cases) == 20
    for case in cases:
        with pytest.raises(ParseError, match="undeclared reference"):
            _answer(case.message)


def test_most_cases_are_within() -> None:
    assert (len(CASES), len(WITHIN)) == (1863, 1478)
