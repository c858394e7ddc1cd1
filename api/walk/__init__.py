"""The structural walk: prunes, defaults and validates objects as the API server does from a kind's schema, offline."""

from api.walk.admit import Answer, admit
from api.walk.default import default, drop_nulls
from api.walk.errors import FieldError, Reason
from api.walk.prune import prune
from api.walk.validate import validate

__all__ = ["Answer", "FieldError", "Reason", "admit", "default", "drop_nulls", "prune", "validate"]
