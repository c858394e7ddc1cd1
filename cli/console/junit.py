"""JUnit XML: suites of cases, each with what failed, could not be run, or was skipped. What becomes a case, the reports say.

No times, no host: the same input gives the same bytes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ...api.wording import escape_unprintable_lines

_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;"})


@dataclass
class JUnitCase:
    """One case: its name, and the elements in it by what they count as."""

    name: str
    failures: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)

    def lines(self, suite: str) -> Iterator[str]:
        """The lines of the case's element."""
        head = f'    <testcase name="{_escaped(self.name)}" classname="{_escaped(suite)}"'
        inside = [*self.skipped, *self.errors, *self.failures]  # the order that the schema of JUnit 4 asks for
        if self.output:
            inside.append(f"<system-out>{_escaped(chr(10).join(self.output))}</system-out>")
        if not inside:
            yield f"{head}/>"
            return
        yield f"{head}>"
        yield from (f"      {part}" for part in inside)
        yield "    </testcase>"


def format_element(tag: str, kind: str, message: str, body: str) -> str:
    """An element of a case: `failure`, `error` or `skipped`, with a type where it has one."""
    typed = f' type="{_escaped(kind)}"' if kind else ""
    return f'<{tag}{typed} message="{_escaped(message)}"' + (f">{_escaped(body)}</{tag}>" if body else "/>")


def format_junit(name: str, suites: list[tuple[str, list[JUnitCase]]]) -> str:
    """The whole document: suites by name with their cases."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="{_escaped(name)}" {_counts(case for _, cases in suites for case in cases)}>',
    ]
    for suite, cases in suites:
        skipped = sum(1 for case in cases if case.skipped)
        lines.append(f'  <testsuite name="{_escaped(suite)}" {_counts(cases)} skipped="{skipped}">')
        lines += [line for case in cases for line in case.lines(suite)]
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>\n"])


def _counts(cases: Iterable[JUnitCase]) -> str:
    tests = failures = errors = 0
    for case in cases:
        tests += 1
        failures += bool(case.failures and not case.errors)
        errors += bool(case.errors)
    return f'tests="{tests}" failures="{failures}" errors="{errors}"'


def _escaped(text: str) -> str:
    """Escape text for an element or attribute; characters that XML can't hold become escapes such as `\\x1b`."""
    return escape_unprintable_lines(text).translate(_ESCAPES)
