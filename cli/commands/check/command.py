"""The command `check`: the start of a run."""

import gc

from .options import SECTIONS, Options

__all__ = ["HELP", "SECTIONS", "Options", "run"]
HELP = "check files as the API server and the webhooks do, and list all findings"


def run(options: Options) -> int:
    """Checks everything, prints the report and returns the exit code."""
    from ....policies.raised import silently
    from .steps import check

    # nothing here makes cycles, and collecting garbage would be a tenth of the time of a small run
    gc.disable()
    try:
        # a rule that raises is a finding; its traceback is for those who asked with -v
        with silently(not options.verbose):
            return check(options)
    finally:
        gc.freeze()  # or the first collection afterwards, and the one at exit, would look at all of it
        gc.enable()
