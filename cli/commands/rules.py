"""The command `rules`: the catalogue of rules and defaults as a table or as data."""

from typing import Annotated, Any, NamedTuple

import orjson

from ...api.kinds import BY_NAME
from ...api.line import Line
from ...api.wording import escape_unprintable
from ...policies.catalogue import list_all
from ...policies.rule import Rule
from ..console import flags
from ..console.escaping import encode_json
from ..console.exits import OK
from ..console.kind_names import parse_kind
from ..console.options import option
from ..console.output import write_stdout
from ..project.apply import RULES_FROM, apply_project, load_own_rules
from ..project.options import ProjectOptions

HELP = "list the rules and defaults"


class Options(NamedTuple):
    """Flags and options."""

    kind: Annotated[str | None, option("only rules that read this kind (name, plural or short name)")] = None
    line: Annotated[Line | None, flags.release("only rules that this operator release has (default: all)")] = None
    output: Annotated[str, flags.output("text", "json")] = "text"
    project: ProjectOptions = ProjectOptions()


def run(options: Options) -> int:
    """Prints the catalogue, sorted by code."""
    load_own_rules(apply_project(options, (RULES_FROM,), ()).project)
    kind = parse_kind(options.kind) if options.kind else None
    rows = [_row(rule) for rule in list_all(options.line) if kind is None or any(name.startswith(f"{kind}/") for name in rule.kinds)]
    if options.output == "json":
        write_stdout(encode_json(rows, orjson.OPT_INDENT_2) + "\n")
    else:
        write_stdout(_columns([COLUMNS, *([_cell(key, row[key]) for key in COLUMNS] for row in rows)]))
    return OK


def _cell(key: str, value: str | list[str]) -> str:
    """One cell as text, where kinds go by their short names."""
    if isinstance(value, str):
        return escape_unprintable(value)
    if key == "kinds":
        return ", ".join(dict.fromkeys(BY_NAME[kind.partition("/")[0]].short for kind in value))
    return ", ".join(value)


COLUMNS = ["code", "name", "level", "operations", "kinds", "needs", "lines", "title"]


def _row(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "level": "default" if rule.is_default else rule.level.value,
        "operations": rule.operations,
        "kinds": list(rule.kinds),
        "needs": list(rule.needs),
        "lines": [str(line) for line in rule.lines],
        "title": rule.title.removesuffix("."),
    }


def _columns(table: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in table) for column in range(len(COLUMNS))]
    return "".join("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in table)
