"""The structural walk: prunes, defaults and validates objects as the API server does from a kind's schema, offline."""

from dynamo_webhooks.api.walk.admit import Answer, admit
from dynamo_webhooks.api.walk.default import default, drop_nulls
from dynamo_webhooks.api.walk.errors import FieldError, Reason
from dynamo_webhooks.api.walk.prune import prune
from dynamo_webhooks.api.walk.validate import validate

__all__ = ["Answer", "FieldError", "Reason", "admit", "default", "drop_nulls", "prune", "validate"]
