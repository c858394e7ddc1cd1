"""Problems of objects: the message, and whether a retry may help."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ...kube.errors import ApiError, ConflictError, ForbiddenError, InvalidError, NotFoundError, NotServedError
from ..render.errors import RenderError

_ORCHESTRATORS: Final = re.compile(r"\b(?:podcliquesets|podcliques|podcliquescalinggroups|leaderworkersets)\b")
LONGEST: Final = 2000  # characters of a condition's message; Events have at most a thousand


class Problem(NamedTuple):
    """One problem; reasons are the Go operator's if it has one."""

    text: str
    category: str  # for metrics: the Go operator's class of API errors
    passing: bool = False  # whether a retry may help


class StandDownError(Exception):
    """Leadership or the namespace was lost: nothing may be written or reported."""


class TakenError(Exception):
    """An object of the wanted name has another owner; the message names it."""


class ContestedError(Exception):
    """Another manager keeps changing a child; the message names both."""


def lacks_right(error: ApiError) -> bool:
    """Whether a call was refused for want of a permission: quotas, Pod Security and webhooks answer 403, too."""
    return isinstance(error, ForbiddenError) and "cannot " in error.message


def explain_missing_permission(component: str, value: str = "") -> str:
    """What to do about a missing permission: the component and the chart's value that grant it."""
    return f"add the component overlays/{component}, or set reconciler.{value or component}=true of the chart"


def _remedy(message: str) -> str:
    return f"; {explain_missing_permission('orchestrators')}" if _ORCHESTRATORS.search(message) else ""


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
    passing = deleted or category in {"conflict", "unavailable"}
    if deleted:
        text = f"{what}: was deleted meanwhile: {error.message}"
    elif category == "not_found":
        text = f"{what}: the cluster does not serve this kind: {error.message}"
    elif lacks_right(error):
        text = f"{what}: the reconciler lacks a permission: {error.message}{_remedy(error.message)}"
    else:
        text = f"{what}: {error.message}"
    return Problem(text, category, passing)


def problem_of_render(error: RenderError) -> Problem:
    """The problem of a part that can't be rendered."""
    return Problem(str(error), "validation")


def join_messages(problems: list[Problem]) -> str:
    """All problems as one message."""
    text = "; ".join(dict.fromkeys(problem.text for problem in problems))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
