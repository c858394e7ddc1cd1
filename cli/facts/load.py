"""Facts for offline commands: a facts file, single facts from flags, both through the checks that the server uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.nearest import hint
from dynamo_webhooks.policies.facts import Facts, FactsError, facts_from
from dynamo_webhooks.policies.review import V1_2, line_of

if TYPE_CHECKING:
    import argparse


def asked_facts(arguments: argparse.Namespace) -> Facts:
    """The facts of `--facts`, `--set-fact` and `--line`. Raises: UsageError."""
    line: Line | None = arguments.line
    if line == Line.V1_5 and getattr(arguments, "profile", None) == V1_2:
        raise UsageError("line 1.5: must not go with profile 1.2, which is the Go operator 1.2; leave one of them out")
    facts = load_facts(arguments.facts, arguments.set_fact)
    return facts if line is None else facts._replace(operatorLine=line)


def load_facts(file: str | None, settings: list[str]) -> Facts:
    """Reads the facts file, if there is one, and lays single facts over it; what neither says is unknown.

    Raises: UsageError that names the file or flag and the key.
    """
    from dynamo_webhooks.cli.yaml.errors import InputError

    values = load_values(file) if file is not None else {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in Facts._fields:
            raise UsageError(f"--set-fact {setting}: must be NAME=VALUE with a known fact{hint(name, Facts._fields)}")
        try:
            values[name] = _value(text, f"--set-fact {name}")
            facts_from(values)
        except InputError as error:
            raise UsageError(f"--set-fact {setting}: {error.text}") from None
        except FactsError as error:
            raise UsageError(f"--set-fact {setting}: {error}") from None
    return facts_from(values)


def _value(text: str, name: str) -> Any:
    """A value in YAML; a single word, as nearly all are, is read without the parser, which takes long to import. Raises: InputError."""
    if text.isascii() and text.isalnum():
        from dynamo_webhooks.cli.yaml.scalars import plain

        return plain(text)
    from dynamo_webhooks.cli.yaml.load import load

    documents = load(text, name)
    return documents[0].data if documents else None


def load_values(file: str) -> dict[str, Any]:
    """Reads and judges the facts file, and returns what it says.

    Raises: UsageError that names the file and the key.
    """
    values = _from_file(file)
    try:
        facts_from(values)
    except FactsError as error:
        raise UsageError(f"--facts {file}: {error}") from None
    return values


def _from_file(file: str) -> dict[str, Any]:
    from dynamo_webhooks.cli.files import load_text
    from dynamo_webhooks.cli.yaml.load import InputError, load

    try:
        documents = load(load_text(file), file)
    except InputError as error:
        raise UsageError(f"--facts {error}") from None
    data = documents[0].data if documents else {}
    if not isinstance(data, dict) or len(documents) > 1:
        raise UsageError(f"--facts {file}: must hold one mapping of facts")
    return dict(data)


def flag_for(fact: str, line: Line) -> str:
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


def consequences(facts: Facts, profile: str) -> list[str]:
    """One sentence for each unknown fact that rules or defaults of a profile ask for: which they are, and what they do without it."""
    from dynamo_webhooks.policies.catalogue import rules
    from dynamo_webhooks.policies.facts import UNKNOWN

    asking = [rule for rule in rules(profile, line_of(facts, profile)) if rule.needs]
    told = []
    for name in Facts._fields:
        if getattr(facts, name) is not UNKNOWN:
            continue
        idle = [rule.name for rule in asking if name in rule.needs and rule.is_default]
        refusing = [rule.name for rule in asking if name in rule.needs and not rule.is_default]
        ends = []
        if idle:
            ends.append(f"{_listed(idle)} fill{'s' * (len(idle) == 1)} in nothing")
        if refusing:
            ends.append(f"{_listed(refusing)} refuse{'s' * (len(refusing) == 1)} what would have to be judged by it")
        if ends:
            told.append(f"{name} is not known: {', and '.join(ends)}")
    return told


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
