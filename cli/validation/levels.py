"""Severities of findings, and the stages of a write in the order in which an API server comes to them."""

from typing import Final

ERROR: Final = "error"
WARNING: Final = "warning"
FAULT: Final = "fault"
# of unknown fields, as of `kubectl --validate`
STRICT: Final = "strict"
WARN: Final = "warn"
IGNORE: Final = "ignore"
# stages in the order in which an API server would come to them
COMMENT: Final = "comment"
DECODE: Final = "decode"
SCHEMA: Final = "schema"
CEL: Final = "cel"
POLICIES: Final = "policies"
CONVERSION: Final = "conversion"
