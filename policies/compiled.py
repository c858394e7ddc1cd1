"""Docstrings and readable code of compiled functions, which mypyc leaves out. The sources beside them have both."""

import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any


def is_compiled(function: object) -> bool:
    """Whether a function is compiled."""
    return isinstance(function, BuiltinFunctionType)


@cache
def interpret(name: str) -> ModuleType:
    """A second, interpreted module beside a compiled one that has been imported; nothing else imports it."""
    module = ModuleType(name)
    module.__package__, module.__file__ = name.rpartition(".")[0], _source(name)
    SourceFileLoader(name, module.__file__).exec_module(module)
    return module


def read_code(name: str) -> CodeType | None:
    """The interpreted code of a module that has been imported, from an archive, too."""
    loader: Any = getattr(sys.modules[name].__spec__, "loader", None)
    code: CodeType | None = loader.get_code(name) if loader is not None else None  # none of a compiled one
    return code or SourceFileLoader(name, _source(name)).get_code(name)


def _source(name: str) -> str:
    return f"{str(sys.modules[name].__file__).rpartition('/')[0]}/{name.rpartition('.')[2]}.py"
