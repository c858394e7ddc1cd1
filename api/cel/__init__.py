"""Python twins of the CEL rules in our schemas: what the API server evaluates, answered offline. One for each rule, no interpreter."""

from dynamo_webhooks.api.cel.rules import EvaluationError, Twin, UnportedRuleError, twin_of

__all__ = ["EvaluationError", "Twin", "UnportedRuleError", "twin_of"]
