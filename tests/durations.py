"""Lists tests that took more than 5 s of CPU in a recorded run without saying why: `python -m tests.durations REPORT...`.

A report is what `pytest --junit-xml` writes. A test says why by `@pytest.mark.slow("reason")`. No test asserts a time: this reads a run.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lxml import etree

MAX_CPU_SECONDS: Final = 5.0


def find_unexplained(report: bytes) -> list[str]:
    """The tests of a report over the bound that have no reason, the slowest first: `12.3 s  tests.cel.test_budget::test_it`."""
    slow = []
    for case in etree.fromstring(report).iter("testcase"):
        properties = {each.get("name"): each.get("value") for each in case.iter("property")}
        seconds = float(properties.get("cpu") or 0)
        if seconds > MAX_CPU_SECONDS and not properties.get("slow"):
            slow.append((seconds, f"{case.get('classname')}::{case.get('name')}"))
    return [f"{seconds:.1f} s  {name}" for seconds, name in sorted(slow, reverse=True)]


def main(files: Iterable[str]) -> int:
    """Prints what is found in reports; 1 if there is any."""
    lines = [line for file in files for line in find_unexplained(Path(file).read_bytes())]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    if lines:
        sys.stdout.write('these took more than 5 s of CPU: make them faster, or mark them @pytest.mark.slow("reason")\n')
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
