"""Values that may be missing."""

from typing import Any, Final

from ..errors import EvaluationError, no_overload
from ..overloads import ANY, function, method
from ..values import NONE, Duration, Optional, Timestamp

_ZEROS: Final = (Duration(0), Timestamp(-62_135_596_800 * 10**9))  # a moment's is the beginning of year 1

function("optional.of", ANY)(Optional)
function("optional.none")(lambda: NONE)
method("hasValue", Optional)(lambda optional: optional is not NONE)
method("first", list)(lambda items: Optional(items[0]) if items else NONE)
method("last", list)(lambda items: Optional(items[-1]) if items else NONE)


@function("optional.ofNonZeroValue", ANY)
def _of_non_zero(value: Any) -> Optional:
    if isinstance(value, (Timestamp, Duration, Optional)):
        return NONE if value in _ZEROS else Optional(value)
    return Optional(value) if value else NONE


@method("value", Optional)
def _value(optional: Optional) -> Any:
    if optional is NONE:
        raise EvaluationError("optional.none() dereference")
    return optional.value


@function("optional.unwrap", list)
@method("unwrapOpt", list)
def _unwrap(items: list[Any]) -> list[Any]:
    if not all(type(item) is Optional for item in items):
        raise no_overload()
    return [item.value for item in items if item is not NONE]
