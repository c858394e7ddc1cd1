"""Measurements as rows of a table, printed at once, and written into their section of docs/bench.md at the end."""

import os
import platform
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "bench.md"
HEAD: Final = "| what | ours | beside | ratio | goal |\n| --- | --- | --- | --- | --- |\n"
_MACHINE: Final = "\nMeasured on "  # how the part of a section begins that is written


class Table:
    """All rows of one run, each with its section."""

    def __init__(self) -> None:
        """Nothing is measured yet."""
        self.rows: list[tuple[str, str]] = []

    def row(self, section: str, what: str, ours: str, beside: str = "", ratio: float = 0.0, goal: str = "") -> None:
        """Adds and prints a row; a ratio of 0 is none."""
        if not self.rows or self.rows[-1][0] != section:
            print(f"\n{section}\n\n{HEAD}", end="")
        line = f"| {what} | {ours} | {beside} | {f'{ratio:.2f}' if ratio else ''} | {goal} |"
        self.rows.append((section, line))
        print(line, flush=True)

    def write_section(self, section: str) -> None:
        """Writes the table of a section anew and keeps what is said above it; adds the section where the page has none."""
        before, _, rest = PAGE.read_text().partition(f"\n## {section}\n")
        body, after, others = rest.partition("\n## ")
        compiled = os.environ.get("BENCH_TREE") or section.endswith(", compiled")
        form = "compiled, as in the image" if compiled else "interpreted"
        machine = f"{_MACHINE}{os.cpu_count()} CPUs with Python {platform.python_version()}, {form}.\n\n"
        lines = "".join(f"{line}\n" for of, line in self.rows if of == section)
        PAGE.write_text(f"{before}\n## {section}\n{body.partition(_MACHINE)[0]}{machine}{HEAD}{lines}{after}{others}")
