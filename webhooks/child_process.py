"""Command and environment that start modules of this installation as own processes. Long requests fork instead: executor/forker.py."""

import os
import sys
from pathlib import Path
from typing import Final

import dynamo_webhooks

_ROOT: Final = str(Path(dynamo_webhooks.__file__).parents[1])


def command(module: str, *words: str) -> tuple[str, ...]:
    """The command that runs a module with this interpreter; `-P` keeps folders of the working directory off the import path."""
    return (sys.executable, "-P", "-m", module, *words)


def environment() -> dict[str, str]:
    """The environment in which `command` finds the packages of this installation before others of the same names."""
    path = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path}
