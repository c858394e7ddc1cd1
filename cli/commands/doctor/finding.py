"""One thing that `doctor` has to say, and how it is printed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final

from ....api.wording import escape_unprintable
from ....kube.protocol import Node


class Level(StrEnum):
    """Severity of a finding; only errors decide the exit code."""

    ERROR = "error"  # requests fail, or will
    WARNING = "warning"  # they don't yet
    INFO = "info"  # good to know


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One finding; `check` names the checked part in one word."""

    level: Level
    check: str
    object: str
    text: str
    repair: str = ""  # a command, or empty where only a person can decide


error: Final = partial(DoctorFinding, Level.ERROR)
warning: Final = partial(DoctorFinding, Level.WARNING)
info: Final = partial(DoctorFinding, Level.INFO)


def format_name(obj: Node) -> str:
    """An object as `namespace/name`."""
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


def sort_findings(findings: Sequence[DoctorFinding]) -> list[DoctorFinding]:
    """Each once, the worst first, otherwise in the order of the checks, which is that of causes."""
    levels = [*Level]
    return sorted(dict.fromkeys(findings), key=lambda each: levels.index(each.level))


def as_text(findings: Sequence[DoctorFinding]) -> str:
    """For people. What does not print is escaped: names and messages of others must neither control a terminal nor look like a repair."""
    lines: list[str] = []
    for each in findings:
        first, *more = map(escape_unprintable, each.text.splitlines() or [""])
        lines += [escape_unprintable(f"{each.level} {each.check}: {each.object}"), f"  {first}", *(f"    {line.strip()}" for line in more)]
        lines += [escape_unprintable(f"  repair: {each.repair}")] if each.repair else []
    counts = {level: sum(each.level is level for each in findings) for level in Level}
    summary = ", ".join(
        f"{count} {level}{'s' if count != 1 and level is not Level.INFO else ''}" for level, count in counts.items() if count
    )
    return "\n".join([*lines, summary or "all is well", ""])


def as_data(findings: Sequence[DoctorFinding]) -> dict[str, Any]:
    """For programs."""
    return {"findings": [asdict(each) for each in findings]}
