"""Common Expression Language as Kubernetes speaks it: compiles an expression once, evaluates it on JSON's data."""

from .errors import CelError, EvaluationError, ParseError
from .program import DEFAULT_BUDGET, Program, compile_text
from .values import NONE, Lazy, Optional

__all__ = ["DEFAULT_BUDGET", "NONE", "CelError", "EvaluationError", "Lazy", "Optional", "ParseError", "Program", "compile_text"]
