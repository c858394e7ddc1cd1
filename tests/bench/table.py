"""A table of measurements: printed row by row, and written into its section of docs/bench.md at the end."""

import os
import platform
from pathlib import Path
from typing import Final

from tests.bench.server import TREE

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "bench.md"
_HEAD: Final = "| what | ours | beside | ratio | goal |"
_MACHINE: Final = "\nMeasured on "  # how the part of a section begins that is written


class Table:
    """The rows of one run."""

    def __init__(self, section: str, head: str = _HEAD) -> None:
        """Prints the head, which names five columns."""
        self._section, self._text = section, f"{head}\n{'| --- ' * 5}|\n"
        print(f"\n{section}\n\n{self._text}", end="")

    def row(self, what: str, ours: str, beside: str = "", ratio: float = 0.0, goal: str = "") -> None:
        """Adds and prints a row; a ratio of 0 is none."""
        row = f"| {what} | {ours} | {beside} | {f'{ratio:.2f}' if ratio else ''} | {goal} |\n"
        self._text += row
        print(row, end="", flush=True)

    def write(self) -> None:
        """Writes the table of the section anew and keeps what is said above it; adds the section where the page has none."""
        before, _, rest = PAGE.read_text().partition(f"\n## {self._section}\n")
        body, after, others = rest.partition("\n## ")
        form = "compiled, as in the image" if any(TREE.glob("webhooks/convert.*.so")) else "interpreted"
        machine = f"{_MACHINE}{os.cpu_count()} CPUs with Python {platform.python_version()}, {form}.\n\n"
        PAGE.write_text(f"{before}\n## {self._section}\n{body.partition(_MACHINE)[0]}{machine}{self._text}{after}{others}")
