"""The command `rules`: the catalogue of rules and defaults as a table or as data."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.cli import flags

if TYPE_CHECKING:
    from dynamo_webhooks.policies.rule import Rule

HELP = "list the rules and defaults"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("--kind", help="only rules that read this kind (name, plural or short name)")
    parser.add_argument("--profile", choices=("current", "1.2"), default="current", help="set of rules (default %(default)s)")
    flags.line(parser, "only rules that this line of the operator has (default: both)")
    parser.add_argument("-o", "--output", choices=("text", "json", "markdown"), default="text", help="format (default %(default)s)")
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the catalogue, sorted by code."""
    import orjson

    from dynamo_webhooks.cli.exits import OK
    from dynamo_webhooks.cli.kinds import kind_named
    from dynamo_webhooks.cli.output import write
    from dynamo_webhooks.policies.catalogue import rules

    kind = kind_named(arguments.kind) if arguments.kind else None
    rows = [
        _row(rule)
        for rule in rules(arguments.profile, arguments.line)
        if kind is None or any(name.startswith(f"{kind}/") for name in rule.kinds)
    ]
    if arguments.output == "json":
        write(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        brief = arguments.output == "text"
        table = [COLUMNS, *([_cell(key, row[key], brief=brief) for key in COLUMNS] for row in rows)]
        write(_columns(table) if brief else _markdown(table))
    return OK


def _cell(key: str, value: str | list[str], *, brief: bool) -> str:
    """One cell as text; `brief` for terminals, where kinds go by their short names."""
    if isinstance(value, str):
        return value
    if brief and key == "kinds":
        return ", ".join(dict.fromkeys(BY_NAME[kind.partition("/")[0]].short for kind in value))
    return ", ".join(value)


COLUMNS = ["code", "name", "level", "operations", "kinds", "needs", "profile", "lines", "title"]


def _row(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "level": "default" if rule.is_default else rule.level.value,
        "operations": sorted(rule.on),
        "kinds": list(rule.kinds),
        "needs": list(rule.needs),
        "profile": rule.profile,
        "lines": [str(line) for line in rule.lines],
        "title": rule.title.removesuffix("."),
    }


def _columns(table: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in table) for column in range(len(COLUMNS))]
    return "".join("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in table)


def _markdown(table: list[list[str]]) -> str:
    head, *rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in table]
    return "".join([head, "|" + " --- |" * len(COLUMNS) + "\n", *rows])
