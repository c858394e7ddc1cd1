"""The sub-commands: a module or a folder each, with HELP, Options and run(options), imported only when chosen."""

from importlib import import_module
from typing import Any


def load(name: str) -> Any:
    """The module of a command: `NAME.py`, or `NAME/command.py` of a folder."""
    module = import_module(f"{__name__}.{name}")
    return module if hasattr(module, "HELP") else import_module(f"{__name__}.{name}.command")
