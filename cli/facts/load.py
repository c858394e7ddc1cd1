"""Facts for offline commands: a facts file, single facts from flags, both through the checks that the server uses."""

from collections.abc import Sequence
from typing import Any

from ...api.line import Line
from ...policies.facts import UNKNOWN, Facts, FactsError, facts_from
from ..console.exits import UsageError
from ..console.flags import FactFlags
from ..console.nearest import did_you_mean
from ..files.read import load_text
from ..yaml.load import InputError, load_documents
from ..yaml.scalars import parse_plain_scalar


def read_facts(flags: FactFlags) -> Facts:
    """The facts of `--facts`, `--set-fact` and `--line`. Raises: UsageError."""
    return fill_line(load_facts(flags.file, flags.set_fact), flags.line)


def fill_line(facts: Facts, line: Line | None) -> Facts:
    """The facts with a line, if one is given."""
    return facts if line is None else facts._replace(operatorLine=line)


def load_facts(file: str | None, settings: Sequence[str], called: str = "--facts") -> Facts:
    """Reads the facts file, if any, and lays single facts over it. Raises: UsageError that names the file, or the flag, and the key."""
    values = load_values(file, called) if file is not None else {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in Facts._fields:
            raise UsageError(f"--set-fact {setting}: must be NAME=VALUE with a known fact{did_you_mean(name, Facts._fields)}")
        try:
            values[name] = _value(text, f"--set-fact {name}")
            facts_from(values)
        except (InputError, FactsError) as error:
            raise UsageError(f"--set-fact {setting}: {error.args[0]}") from None
    return facts_from(values)


def _value(text: str, name: str) -> Any:
    """A value in YAML; a single word, as nearly all are, is read without the parser, which takes long to import. Raises: InputError."""
    if text.isascii() and text.isalnum():
        return parse_plain_scalar(text)
    documents = load_documents(text, name)
    return documents[0].data if documents else None


def load_values(file: str, called: str = "--facts") -> dict[str, Any]:
    """Reads and validates the facts file; `called` is what gave it. Raises: UsageError that names the file and the key."""
    try:
        documents = load_documents(load_text(file), file)
    except InputError as error:
        raise UsageError(f"{called} {error}") from None
    data = documents[0].data if documents else {}
    if not isinstance(data, dict) or len(documents) > 1:
        raise UsageError(f"{called} {file}: must be one mapping of facts")
    try:
        facts_from(data)
    except FactsError as error:
        raise UsageError(f"{called} {file}: {error}") from None
    return dict(data)


def find_flag(fact: str, line: Line) -> str:
    """The flag that supplies a fact, with a value of its shape that keeps the line."""
    examples = {
        "operatorScope": "cluster",
        "operatorVersion": f"{line}.0",
        "operatorLine": str(line),
        "operatorPrincipal": "system:serviceaccount:NAMESPACE:NAME",
        "clusterTopologies": "'{NAME: [zone, rack, host]}'",
        "excludedNamespaces": "'[]'",
        "switchedOff": "'[]'",
    }
    return f"--set-fact {fact}={examples.get(fact, 'true')}"


def describe_consequences(facts: Facts) -> list[str]:
    """One sentence for each unknown fact that rules or defaults ask for: which they are, and what they do without it."""
    from ...policies.catalogue import list_rules

    asking = [rule for rule in list_rules(facts.line) if rule.needs]
    sentences = []
    for name in Facts._fields:
        if getattr(facts, name) is not UNKNOWN:
            continue
        idle = [rule.name for rule in asking if name in rule.needs and rule.is_default]
        refusing = [rule.name for rule in asking if name in rule.needs and not rule.is_default]
        ends = []
        if idle:
            ends.append(f"{_listed(idle)} fill{'s' * (len(idle) == 1)} in nothing")
        if refusing:
            ends.append(f"{_listed(refusing)} refuse{'s' * (len(refusing) == 1)} objects that depend on it")
        if ends:
            sentences.append(f"{name} is not known: {', and '.join(ends)}")
    return sentences


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
