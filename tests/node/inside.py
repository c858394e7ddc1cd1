"""Runs a command in the namespaces that `unshare` has made, as the first process, which must reap all others."""

import os
import subprocess
import sys
from pathlib import Path

from tests.node.machine import set_up


def main(home: str, *command: str) -> int:
    """Sets the machine up and returns the exit code of the command."""
    set_up(Path(home))
    first = subprocess.Popen(command)
    while True:
        process, status = os.wait()
        if process == first.pid:
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
