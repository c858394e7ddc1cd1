"""The structural walk: prunes, defaults and validates objects as the API server does from a kind's schema, offline."""

from .admit import Answer, admit
from .default import default, drop_nulls
from .errors import FieldError, Reason
from .prune import prune
from .validate import validate

__all__ = ["Answer", "FieldError", "Reason", "admit", "default", "drop_nulls", "prune", "validate"]
