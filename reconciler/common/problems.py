"""Problems of objects and whether a retry may help, results of passes, and objects that are nested too deeply. Pure."""

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ...kube.errors import ApiError, ConflictError, ForbiddenError, InvalidError, NotFoundError, NotServedError, lacks_permission
from ...kube.protocol import Node

_ORCHESTRATORS: Final = re.compile(r"\b(?:podcliquesets|podcliques|podcliquescalinggroups|leaderworkersets|disaggregatedsets)\b")
MAX_MESSAGE_CHARACTERS: Final = 2000  # of a condition; Events have at most a thousand
MAX_LEVELS: Final = 200  # of maps and lists; rendering adds a few, and the JSON writer allows 254
_MARK: Final = "tooDeep"
UNLISTED_RETRY_SECONDS: Final = 1.0  # until the next pass while objects of a kind are being listed
SOON_RETRY_SECONDS: Final = 2.0  # until the next pass over an object that is about to change
SLOW_RETRY_SECONDS: Final = 60.0  # until the next pass over an object that needs a change by a user


class Problem(NamedTuple):
    """One problem; reasons are the Go operator's if it has one."""

    text: str
    category: str  # for metrics: the Go operator's class of API errors
    is_transient: bool = False  # whether a retry may help


class StandDownError(Exception):
    """Leadership or the namespace was lost: nothing may be written or reported."""


class NameTakenError(Exception):
    """An object of the wanted name has another owner; the message names it."""


class ContestedError(Exception):
    """Another manager keeps changing a child; the message names both."""


def explain_missing_permission(component: str, value: str = "") -> str:
    """Explain what to do about a missing permission: the component and the chart's value that grant it."""
    return f"add manifests/components/{component}, or set reconciler.{value or component}=true of the chart"


def problem_of_error(error: ApiError, what: str) -> Problem:
    """The problem of a refused call; `what` begins the sentence."""
    kinds: tuple[tuple[type[ApiError], str], ...] = (
        (ForbiddenError, "forbidden"),
        (NotFoundError, "not_found"),
        (InvalidError, "validation"),
        (ConflictError, "conflict"),
    )
    if "admission webhook" in error.message and isinstance(error, (ForbiddenError, InvalidError)):
        return Problem(f"{what}: {error.message}", "validation")
    category = next((name for kind, name in kinds if isinstance(error, kind)), "unavailable")
    deleted = category == "not_found" and not isinstance(error, NotServedError)
    is_transient = deleted or category in {"conflict", "unavailable"}
    if deleted:
        text = f"{what}: was deleted meanwhile: {error.message}"
    elif category == "not_found":
        text = f"{what}: the cluster does not serve this kind: {error.message}"
    elif lacks_permission(error):
        remedy = f"; {explain_missing_permission('orchestrators')}" if _ORCHESTRATORS.search(error.message) else ""
        text = f"{what}: the reconciler lacks a permission: {error.message}{remedy}"
    else:
        text = f"{what}: {error.message}"
    return Problem(text, category, is_transient)


def join_messages(problems: list[Problem]) -> str:
    """All problems as one message."""
    text = "; ".join(dict.fromkeys(problem.text for problem in problems))
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else f"{text[: MAX_MESSAGE_CHARACTERS - 3]}..."


def cut_nested(obj: Node) -> None:
    """Empty a spec that is nested deeper than `MAX_LEVELS`. Linear in the size of the object."""
    level = _nested([obj.get("spec")])
    for _ in range(MAX_LEVELS + 1):
        if not level:
            return
        level = _nested(inner for value in level for inner in (value.values() if isinstance(value, dict) else value))
    obj["spec"], obj[_MARK] = {}, True


def explain_cut(obj: Node) -> str:
    """Explain why nothing is done for an object that was cut; empty for any other."""
    return f"spec: must be nested at most {MAX_LEVELS} levels deep; flatten the deepest part" if _MARK in obj else ""


def _nested(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value and isinstance(value, dict | list)]


def pick_shortest(*delays: float) -> float:
    """The shortest of some delays, of which 0 is none."""
    return min(filter(None, delays), default=0.0)


class Refusal(NamedTuple):
    """The reason why a pass does nothing, as the reason and message of a condition."""

    reason: str
    message: str
    requeue_after: float = 0.0  # seconds until the next pass; 0 for the next change


class PassResult(NamedTuple):
    """The result of one pass."""

    problems: tuple[Problem, ...] = ()
    requeue_after: float = 0.0  # seconds until the next pass; 0 for the next change

    @property
    def is_transient(self) -> bool:
        """Whether an early retry is useful."""
        return any(problem.is_transient for problem in self.problems)
