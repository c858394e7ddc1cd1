"""Finds the rule that said a sentence, by the texts that rules are written with; for messages whose rule's name was cut off."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple

from ....policies.catalogue import list_declared
from ....policies.compiled import interpret, is_compiled, read_code
from ....policies.rule import Rule
from ....policies.words import NAMES
from ....policies.words import format_words as in_words
from .cause import Cause, read_cause

MIN_RULE_CHARACTERS: Final = 12  # of a rule's own texts in the message: fewer are words that many sentences share
_FIELD_SCORE: Final = 10  # of a rule that mentions the field
_MIN_TEXT_CHARACTERS: Final = 4  # between two values
_MAX_RULES: Final = 3  # for one sentence: more is no answer
_ROOM: Final = "dynamo_webhooks.policies."
_FOREIGN: Final = frozenset({f"dynamo_webhooks.policies.{name}" for name in ("at", "edit", "rule", "review", "words")})
_CHECKS: Final = ("dynamo_webhooks.policies.pods", "dynamo_webhooks.policies.tables")  # of objects, whose texts functions don't name
_VALUE: Final = re.compile(r"\{\w+\}")  # in a template
_ONE_OF: Final = "must be one of"  # worded by policies.at; the allowed values identify the rule
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def find_rules_by_text(sentence: str) -> list[Rule]:
    """The rules whose texts fill most of a sentence, the best ones only; empty when none is near enough, or too many are."""
    cause = read_cause(sentence)
    scores = {rule: _score(rule, cause.path, cause.text) for rule in _candidate_rules(cause)}
    best = max(scores.values(), default=(0, 0))
    if best[0] < MIN_RULE_CHARACTERS:
        return []
    rules = {rule.name: rule for rule, score in reversed(scores.items()) if score == best}
    return [*reversed(rules.values())] if len(rules) <= _MAX_RULES else []


def _candidate_rules(cause: Cause) -> list[Rule]:
    """The rules of the kinds that a message names; all where it names none."""
    of = cause.kinds
    return [
        rule for rule in list_declared() if not rule.is_default and (not of or any(read.partition("/")[0] in of for read in rule.kinds))
    ]


def _score(rule: Rule, path: str, text: str) -> tuple[int, int]:
    """The number of characters of the rule's texts in the message, the field included; among equals, how much of the path it mentions."""
    pieces, words = read_texts(rule)
    characters = sum(len(piece) for piece in pieces if piece in text)
    end = text.rpartition(": ")[2]
    if len(end) >= MIN_RULE_CHARACTERS and any(end in piece for piece in pieces):
        characters += len(end)  # the message was cut off within a text
    if _ONE_OF in text and _ONE_OF in pieces:
        characters += sum(len(word) for word in words if f'"{word}"' in text)
    if not characters:
        return 0, 0
    named = _WORD.findall(re.sub(r"\[[^\]]*\]", "", path))
    return characters + _FIELD_SCORE * (bool(named) and len(named[-1]) > 1 and named[-1] in words), len(
        words.intersection(_WORD.findall(path))
    )


class RuleTexts(NamedTuple):
    """The texts of a rule."""

    pieces: frozenset[str]  # the constant texts of its sentences
    words: frozenset[str]  # in its texts, names of fields among them


@cache
def read_texts(rule: Rule) -> RuleTexts:
    """The constant texts of a rule's sentences and of the functions that it calls, and all words, in the names of either version."""
    functions = [*_functions(rule)]
    constants = {text for function in functions if function.__module__ not in _CHECKS for text in _constants(function)}
    if any(function.__module__ in _CHECKS for function in functions):
        constants |= {text for name in _CHECKS for text in _texts(read_code(name)) if not text.endswith(".")}  # as documentation ends
    constants |= {NAMES[text] for text in constants if text in NAMES}
    texts = {piece for text in constants for wording in in_words(text) for piece in _VALUE.split(wording)}
    pieces = frozenset(piece for text in texts if len(piece := _flat(text)) >= _MIN_TEXT_CHARACTERS and " " in piece)
    return RuleTexts(pieces, frozenset(word for text in (*texts, *rule.where.values(), *rule.when) for word in _WORD.findall(text)))


def _functions(rule: Rule) -> Iterator[FunctionType]:
    """The rule's function, and those of the policies that it names, directly or not; of checks only the first."""
    waiting: list[Any] = [rule.check]
    seen: set[FunctionType] = set()
    while waiting:
        function = waiting.pop()
        if getattr(function, "__module__", "") in _CHECKS:
            yield function
            continue
        if is_compiled(function) and function.__module__.startswith(_ROOM):
            interpreted = vars(interpret(function.__module__)).get(function.__name__)
            function = interpreted.check if isinstance(interpreted, Rule) else interpreted
        if not isinstance(function, FunctionType) or function in seen or function.__module__ in _FOREIGN:
            continue
        seen.add(function)
        yield function
        waiting += [thing for thing in _named(function) if getattr(thing, "__module__", "").startswith(_ROOM)]


def _named(function: FunctionType) -> Iterator[Any]:
    """The things of its module that a function names."""
    known = vars(sys.modules[function.__module__])
    for name in _names(function.__code__):
        if name in known:
            yield known[name]
            yield from known[name].values() if isinstance(known[name], dict) else ()  # functions of a table


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _constants(function: FunctionType) -> Iterator[str]:
    """The texts in a function but for its documentation, and those of the constants that it names."""
    if "not_supported" in _names(function.__code__):
        yield _ONE_OF
    yield from (text for text in _texts(function.__code__) if text != function.__doc__)
    for thing in _named(function):
        yield from _texts(thing)


def _texts(thing: object) -> Iterator[str]:
    if isinstance(thing, str):
        yield thing
    elif isinstance(thing, (tuple, frozenset, dict, CodeType)):
        for item in thing.co_consts if isinstance(thing, CodeType) else thing:
            yield from _texts(item)


def _flat(text: str) -> str:
    """One line with single spaces: terminals and mails break messages anywhere."""
    return " ".join(text.split())
