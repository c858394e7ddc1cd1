"""Values that may be missing."""

from __future__ import annotations

from typing import Any

from ..errors import EvaluationError
from ..overloads import ANY, function, method
from ..values import NONE, Duration, Optional, Timestamp


@function("optional.of", ANY)
def _of(value: Any) -> Optional:
    return Optional(value)


@function("optional.none")
def _none() -> Optional:
    return NONE


@function("optional.ofNonZeroValue", ANY)
def _of_non_zero(value: Any) -> Optional:
    zero = value is NONE or value == Timestamp(0) or value == Duration(0)
    return NONE if zero or (not isinstance(value, (Timestamp, Duration, Optional)) and not value) else Optional(value)


@method("hasValue", Optional)
def _has_value(found: Optional) -> bool:
    return found is not NONE


@method("value", Optional)
def _value(found: Optional) -> Any:
    if found is NONE:
        raise EvaluationError("optional.none() dereference")
    return found.value
