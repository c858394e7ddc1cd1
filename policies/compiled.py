"""What mypyc leaves out of compiled functions: their docstrings, and code that could be read. The sources beside them have it."""

import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from types import BuiltinFunctionType, ModuleType


def is_compiled(function: object) -> bool:
    """Whether a function is compiled."""
    return isinstance(function, BuiltinFunctionType)


@cache
def interpret(name: str) -> ModuleType:
    """A second, interpreted module beside a compiled one that has been imported; nothing else imports it."""
    package, _, stem = name.rpartition(".")
    found = ModuleType(name)
    found.__package__, found.__file__ = package, f"{str(sys.modules[name].__file__).rpartition('/')[0]}/{stem}.py"
    SourceFileLoader(name, found.__file__).exec_module(found)
    return found
