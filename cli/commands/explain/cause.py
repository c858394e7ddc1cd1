"""The causes of a pasted refusal, each with its field, and the rule behind the words of one: ours, the Go operator's or a definition's."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from ....api.kinds import BY_NAME, GROUP, list_kind_versions
from ....api.line import Line
from ....api.schema import Node, load_schema, resolve
from ....policies.catalogue import find_rule
from ....policies.rule import Rule
from ...yaml.load import load_documents

# between the causes of one refusal: our own joint, kubectl's bullets, the API server's list
_JOINTS: Final = re.compile(r"; (?=\S+: )|\n\s*\* |\], \[|, (?=(?:spec|metadata)(?:[.\[]\S*)?: |<nil>: )")
_REFUSALS: Final = re.compile(r'\n(?=Error from server|error: |The \w+ ")')  # between objects, as kubectl prints them
_PATH: Final = re.compile(r"\b(?:spec|metadata)\b[\w.*/-]*(?:\[[^\]]*\][\w.*/-]*)*")
_KIND: Final = re.compile(rf'\b(Dynamo[A-Za-z]+)(?:\.{re.escape(GROUP)}| in version)? "')
_CEL: Final = re.compile(r'Invalid value: "(?:object|array|string|map)": (?!spec\S* in body)(.+)', re.DOTALL)  # then the sentence of a rule
_STEP: Final = re.compile(r"\[([^\]]*)\]|\.?([^.\[\]]+)")
WILD: Final = "*"
_INVALID: Final = "is invalid:"  # ends the lead of a refusal, which names the kind
_MAX_LEAD_CHARACTERS: Final = 500  # characters of it that are looked at
_MAX_CAUSES: Final = 100  # that are looked at, as many as a response has
_GAP: Final = "*"  # in the words of an operator's message

Steps: TypeAlias = tuple[str, ...]


def split_steps(word: str) -> Steps:
    """The steps of a path as people write it; keys and indices may be in brackets."""
    return tuple(key or name for key, name in _STEP.findall(word.strip().removesuffix(f".{GROUP}")))


class Cause(NamedTuple):
    """One cause: the whole text in one line, the kinds that the refusal names, and the field."""

    text: str
    kinds: frozenset[str]
    path: str
    cut: bool = False  # whether the refusal ends within it

    @property
    def steps(self) -> Steps:
        """The steps of the field."""
        return split_steps(self.path)


def read_cause(text: str) -> Cause:
    """Reads a text as one cause: terminals and mails break messages anywhere."""
    match = _PATH.search(text)
    path = match[0].rstrip(".") if match else ""
    return Cause(" ".join(text.split()), frozenset(kind for kind in _KIND.findall(text) if kind in BY_NAME), path)


def split_refusals(text: str) -> list[str]:
    """The refusals of several objects, in the order in which kubectl printed them."""
    return _REFUSALS.split(text, maxsplit=_MAX_CAUSES)


def split_causes(text: str) -> list[Cause]:
    """The causes of a refusal, in order; each names the kinds that the refusal names."""
    lead, invalid, causes = text.partition(_INVALID)
    lead, causes = (f"{lead[-_MAX_LEAD_CHARACTERS:]}{invalid} ", causes) if invalid else ("", text)
    listed = causes.lstrip().startswith("[")
    parts = [read_cause(f"{lead}{part}") for part in _JOINTS.split(causes, maxsplit=_MAX_CAUSES)]
    last = parts[-1]._replace(cut=listed and not text.rstrip().endswith("]"))
    return [*parts[:-1], last]


@cache
def load_operator_messages() -> dict[Rule, tuple[tuple[str, ...], ...]]:
    """The messages of the Go operator by our rule that refuses the same: constant pieces of each, in order."""
    [document] = load_documents(Path(__file__).with_name("operator_messages.yaml").read_text("utf-8"))
    return {
        rule: tuple(tuple(words.split(_GAP)) for words in messages)
        for name, messages in document.data.items()
        if (rule := find_rule(name)) is not None
    }


def find_operator_rules(cause: Cause) -> list[Rule]:
    """The rules of the longest message of the Go operator that a cause has: two rules may share one message."""
    matches = [
        (sum(map(len, pieces)), rule)
        for rule, messages in load_operator_messages().items()
        if not cause.kinds or any(read.partition("/")[0] in cause.kinds for read in rule.kinds)
        for pieces in messages
        if _has(cause.text, pieces)
    ]
    longest = max((length for length, _ in matches), default=0)
    return [rule for length, rule in matches if length == longest]


def _has(text: str, pieces: tuple[str, ...]) -> bool:
    at = 0
    for piece in pieces:
        start = text.find(piece, at)
        if start < 0:
            return False
        at = start + len(piece)
    return True


class RuleMessage(NamedTuple):
    """The message of a CEL rule of a definition, and the locations of the rule."""

    text: str
    locations: tuple[tuple[str, str, Steps], ...]  # kind, version, path with `*` for keys and indices


def find_rule_message(cause: Cause) -> RuleMessage | None:
    """The longest message of a definition's rule in a cause, else the one at its field that is most like it; None for another cause."""
    longest = max(
        (sentence for sentence in list_rule_messages() if sentence.text in cause.text),
        key=lambda sentence: len(sentence.text),
        default=None,
    )
    other = _CEL.search(cause.text) if longest is None else None
    if other is None:
        return longest
    words = _words(other[1])
    near = [
        (_likeness(words, sentence), sentence)
        for sentence in list_rule_messages()
        if any(_is_at(cause, *location) for location in sentence.locations)
    ]
    return max((pair for pair in near if pair[0] > 0), key=lambda pair: pair[0], default=(0, None))[1]


def _is_at(cause: Cause, kind: str, _: str, path: Steps) -> bool:
    return (not cause.kinds or kind in cause.kinds) and len(path) == len(cause.steps) and all(map(_is_step, path, cause.steps))


def _is_step(wanted: str, step: str) -> bool:
    return wanted in (WILD, step)


def _likeness(words: frozenset[str], sentence: RuleMessage) -> float:
    """The share of the words of two sentences that both have."""
    own = _words(sentence.text)
    return len(words & own) / len(words | own)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


@cache
def list_rule_messages() -> tuple[RuleMessage, ...]:
    """Every message of a CEL rule in any line's definitions."""
    by_text: dict[str, dict[tuple[str, str, Steps], None]] = {}
    for location, text in _stated():
        by_text.setdefault(text, {})[location] = None
    return tuple(RuleMessage(text, tuple(places)) for text, places in by_text.items())


def _stated() -> Iterator[tuple[tuple[str, str, Steps], str]]:
    for kind, version in list_kind_versions():
        for line in Line:
            for path, rule in _schema_rules(load_schema(kind, version, line)):
                if "message" in rule:
                    yield (kind, version, path), rule["message"]


def _schema_rules(node: Node, path: Steps = ()) -> Iterator[tuple[Steps, Node]]:
    """The CEL rules of a schema with their paths, whose steps into lists and maps are WILD."""
    node = resolve(node)
    for rule in node.get("x-kubernetes-validations") or ():
        yield path, rule
    for name, below in (node.get("properties") or {}).items():
        yield from _schema_rules(below, (*path, name))
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _schema_rules(node[key], (*path, WILD))
