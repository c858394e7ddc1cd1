"""Runs the tests of a node in the namespaces that `python -m tests.node` has made, as the first process, which must reap all others."""

import os
import subprocess
import sys
from pathlib import Path

from tests.node.machine import set_up


def main(home: str, *arguments: str) -> int:
    """Sets the machine up and returns the exit code of pytest."""
    set_up(Path(home))
    # in their order, since tests of a module share an installation
    tests = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:randomly", "-m", "node", "--durations=20", f"--basetemp={home}/tests", *arguments]
    )
    while True:
        process, status = os.wait()
        if process == tests.pid:
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
