"""Functions of an API server's authorizer, whose answers are known only there."""

from typing import Any

from ..declarations import DECLARED, split
from ..errors import EvaluationError
from ..overloads import ANY, method


def _unknown(*_: Any) -> Any:
    raise EvaluationError("the permissions in the cluster are not known")


for _name, _, _given, _result in map(split, DECLARED["authorization"]):
    method(_name, *[ANY] * len(_given.split(", ")))(_unknown)
