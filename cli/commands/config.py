"""The command `config`: the effective configuration, with where each value came from."""

import os
from typing import Annotated, Any, NamedTuple

import orjson

from ...api.operator.configuration import leaves
from ...api.operator.judge import has_key, without_password
from ...api.operator.section import dump
from ...api.paths import lookup
from ..console import flags
from ..console.escaping import encode_json
from ..console.exits import OK
from ..console.options import option
from ..console.output import write_stderr, write_stdout
from ..installation.configuration import EffectiveConfiguration, Key, load_configuration

HELP = "print the effective configuration and the source of each value"


class Options(NamedTuple):
    """Flags and arguments."""

    config: Annotated[str | None, option("OperatorConfiguration, YAML or JSON; default: only defaults and environment", "FILE")] = None
    lenient_config: flags.LenientConfig = False
    output: Annotated[str, flags.output("text", "yaml", "json")] = "text"


def run(options: Options) -> int:
    """Prints what processes started with the same file and environment would use. Raises: UsageError for what would stop them."""
    effective = load_configuration(options.config, os.environ, lenient=options.lenient_config)
    for line in effective.unknown:
        write_stderr(f"warning: {line}")
    written = {"text": _text, "yaml": _yaml, "json": _json}[options.output]
    write_stdout(written(effective))
    return OK


def _values(effective: EffectiveConfiguration) -> list[tuple[Key, Any]]:
    """Every value with its key, as a file for this operator would write it; passwords in URLs are left out."""
    dumped = dump(effective.configuration)
    values = ((key, lookup(dumped, key)) for key, _ in leaves() if has_key(effective.configuration.operator.version, key))
    return [(key, without_password(value) if isinstance(value, str) else value) for key, value in values]


def _text(effective: EffectiveConfiguration) -> str:
    rows = [(".".join(key), encode_json(value) if value is not None else "-", effective.origin(key)) for key, value in _values(effective)]
    widths = [min(max(len(row[column]) for row in rows), 48) for column in (0, 1)]
    return "".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}\n" for name, value, origin in rows)


def _json(effective: EffectiveConfiguration) -> str:
    rows = [{"key": ".".join(key), "value": value, "from": effective.origin(key)} for key, value in _values(effective)]
    return encode_json({"values": rows}, orjson.OPT_INDENT_2) + "\n"


def _yaml(effective: EffectiveConfiguration) -> str:
    """A file that can be given to --config; a comment says what isn't a default."""
    lines: list[str] = []
    before: Key = ()
    for key, value in _values(effective):
        if value is None:
            continue
        lines += [f"{'  ' * depth}{key[depth]}:" for depth in range(len(key) - 1) if key[: depth + 1] != before[: depth + 1]]
        origin = effective.origin(key)
        comment = "" if origin == "default" else f"  # {origin}"
        lines.append(f"{'  ' * (len(key) - 1)}{key[-1]}: {encode_json(value)}{comment}")
        before = key
    return "\n".join(lines) + "\n"
