"""The cases of `test` as JUnit XML: a suite a folder, a case a file; what could not be evaluated stands in the case's output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.cli.junit import Case, element, written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.cli.cases.verdict import Verdict

_NAME: Final = "dynamo-webhooks test"


def document(verdicts: Iterable[Verdict]) -> str:
    """The whole document."""
    suites: dict[str, list[Case]] = {}
    for one in verdicts:
        path = Path(one.case.file)
        suites.setdefault(str(path.parent), []).append(_case(path.name, one))
    return written(_NAME, sorted(suites.items()))


def _case(name: str, verdict: Verdict) -> Case:
    case = Case(name)
    case.output.extend(verdict.notes)
    if not verdict.passed:
        tag = "error" if verdict.fault else "failure"
        (case.errors if verdict.fault else case.failures).append(element(tag, verdict.case.sort, verdict.failure, "\n".join(verdict.lines)))
    return case
