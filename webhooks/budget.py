"""The end of a request that costs more than one request may. Who sets the bound: executor/job.py."""

from __future__ import annotations

from typing import Final


class BudgetError(BaseException):
    """Raised in the middle of whatever runs when a request has used its CPU time; the text is a sentence for people.

    No `Exception`: a rule or an object that fails costs one finding, and the code that sees to that must not catch this.
    """


MEMORY: Final = "the request needs more memory than one request may have; make the object or the list smaller"
