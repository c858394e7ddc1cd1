"""The command `config`: the effective configuration, with where each value came from."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from dynamo_webhooks.cli import flags

if TYPE_CHECKING:
    from dynamo_webhooks.cli.configuration import Effective, Key

HELP = "print the effective configuration and the source of each value"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("--config", metavar="FILE", help="OperatorConfiguration, YAML or JSON; default: only defaults and environment")
    flags.lenient(parser)
    parser.add_argument("-o", "--output", choices=("text", "yaml", "json"), default="text", help="format (default %(default)s)")
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints what processes started with the same file and environment would use.

    Raises: UsageError for a configuration that would stop them.
    """
    from dynamo_webhooks.cli.configuration import load_configuration
    from dynamo_webhooks.cli.exits import OK
    from dynamo_webhooks.cli.output import say, write

    found = load_configuration(arguments.config, os.environ, lenient=arguments.lenient_config)
    for line in found.unknown:
        say(f"warning: {line}")
    written = {"text": _text, "yaml": _yaml, "json": _json}[arguments.output]
    write(written(found))
    return OK


def _values(found: Effective) -> list[tuple[Key, Any]]:
    """Every value with its key, as the file would write it; passwords in URLs are left out."""
    from dynamo_webhooks.api.operator.configuration import leaves
    from dynamo_webhooks.api.operator.judge import without_password
    from dynamo_webhooks.api.paths import MISSING, lookup

    dumped = found.configuration.model_dump()
    values = []
    for key, _ in leaves():
        value = lookup(dumped, key)
        if value is not MISSING:  # a section that isn't there, such as serviceMesh.istio without Istio
            values.append((key, without_password(value) if isinstance(value, str) else value))
    return values


def _text(found: Effective) -> str:
    from dynamo_webhooks.cli.escaping import encoded

    rows = [(".".join(key), encoded(value) if value is not None else "-", found.origin(key)) for key, value in _values(found)]
    widths = [min(max(len(row[column]) for row in rows), 48) for column in (0, 1)]
    return "".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}\n" for name, value, origin in rows)


def _json(found: Effective) -> str:
    import orjson

    from dynamo_webhooks.cli.escaping import encoded

    rows = [{"key": ".".join(key), "value": value, "from": found.origin(key)} for key, value in _values(found)]
    return encoded({"values": rows}, orjson.OPT_INDENT_2) + "\n"


def _yaml(found: Effective) -> str:
    """A file that can be given to --config; a comment says what isn't a default."""
    from dynamo_webhooks.cli.escaping import encoded

    lines: list[str] = []
    before: Key = ()
    for key, value in _values(found):
        if value is None:
            continue
        same = next((depth for depth, pair in enumerate(zip(before, key[:-1], strict=False)) if pair[0] != pair[1]), None)
        shared = min(len(before), len(key) - 1) if same is None else same
        lines += [f"{'  ' * depth}{key[depth]}:" for depth in range(shared, len(key) - 1)]
        origin = found.origin(key)
        comment = "" if origin == "default" else f"  # {origin}"
        lines.append(f"{'  ' * (len(key) - 1)}{key[-1]}: {encoded(value)}{comment}")
        before = key[:-1]
    return "\n".join(lines) + "\n"
