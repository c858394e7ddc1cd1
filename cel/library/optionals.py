"""Values that may be missing."""

from typing import Any

from ..errors import EvaluationError
from ..overloads import ANY, function, method
from ..values import NONE, Duration, Optional, Timestamp

function("optional.of", ANY)(Optional)
function("optional.none")(lambda: NONE)
method("hasValue", Optional)(lambda found: found is not NONE)


@function("optional.ofNonZeroValue", ANY)
def _of_non_zero(value: Any) -> Optional:
    zero = value is NONE or value == Timestamp(0) or value == Duration(0)
    return NONE if zero or (not isinstance(value, (Timestamp, Duration, Optional)) and not value) else Optional(value)


@method("value", Optional)
def _value(found: Optional) -> Any:
    if found is NONE:
        raise EvaluationError("optional.none() dereference")
    return found.value
