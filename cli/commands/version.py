"""The command `version`: prints release, platform and kinds as JSON."""

import platform
from typing import NamedTuple

import orjson

from ...api.kinds import GROUP, KINDS
from ...conversion import is_compiled
from ..console.exits import OK
from ..console.output import write_stdout
from ..console.program import installed_version

HELP = "print versions as JSON"


class Options(NamedTuple):
    """No flags of its own: the answer is always whole."""


def run(_options: Options) -> int:
    """Prints one JSON document."""
    known = {
        "version": installed_version(),
        "python": platform.python_version(),
        "compiled": is_compiled(),
        "kinds": [{"kind": kind.name, "group": GROUP, "versions": [version.name for version in kind.versions]} for kind in KINDS],
    }
    write_stdout(orjson.dumps(known, option=orjson.OPT_INDENT_2).decode() + "\n")
    return OK
