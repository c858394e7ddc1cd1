"""The inference frameworks that a container calls."""

import re
from typing import Final

from .review import Fields

VLLM: Final = "vllm"
SGLANG: Final = "sglang"
TRTLLM: Final = "trtllm"

# separate expressions, so that long lines take linear time
PYTHON: Final = re.compile(r"python[0-9.]*")
_MODULE: Final = re.compile(r"\s-m(?=\s|dynamo\.)")
_NAMED: Final = {framework: re.compile(rf"(?:\b|(?<=\s-m))dynamo\.{framework}\b") for framework in (VLLM, SGLANG, TRTLLM)}
SEPARATORS: Final = re.compile(r"([|&;])")  # separators of a shell line's commands


def list_words(container: Fields) -> list[str]:
    """Command and arguments of a container."""
    return [str(word) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]


def find_frameworks(container: Fields) -> list[str]:
    """The frameworks that command and arguments of a worker's container call."""
    commands = SEPARATORS.split(" ".join(list_words(container)))
    return [framework for framework in _NAMED if any(_calls(command, framework) for command in commands)]


def _calls(command: str, framework: str) -> bool:
    """Whether a command is a Python interpreter, then -m, then the framework's module."""
    python = PYTHON.search(command)
    module = _MODULE.search(command, python.end()) if python else None
    return module is not None and _NAMED[framework].search(command, module.end()) is not None
