"""Regular expressions in the syntax of RE2, matched in time linear in the text."""

from .machine import Regex, compile_regex
from .syntax import RegexError

__all__ = ["Regex", "RegexError", "compile_regex"]
