"""Writes the generated pages of docs/ (`python -m tools.pages`; `--check` fails when one is stale, missing or left over).

Made as a whole: the pages of rules and commands, and those of other rooms' declarations. In pages that people write only the outputs of
commands and marked tables are (tools/manual/console.py). Everything else beside them is by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.manual.architecture import architecture_page
from tools.manual.commands import command_pages, commands_page
from tools.manual.configuration import configuration_page
from tools.manual.console import PageError, refreshed
from tools.manual.defaults import defaults_page
from tools.manual.differences import differences_page
from tools.manual.fields import fields_page
from tools.manual.legacy import legacy_page
from tools.manual.lines import lines_page
from tools.manual.metrics import metrics_page
from tools.manual.parts import PARTS
from tools.manual.rules import rule_pages, rules_page
from tools.manual.terminal import TerminalError

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
WRITTEN: Final = ("refusals.md", "sessions.md", "ci.md", "editors.md")  # by people, with outputs that are made
FOLDERS: Final = ("rules", "commands")  # which hold made pages alone


def pages() -> dict[str, str]:
    """Every page as it has to be, by its file below docs/.

    Raises: FileNotFoundError for a page by people that isn't there; PageError and TerminalError for one whose commands can't be shown.
    """
    return {
        "rules.md": rules_page(),
        **rule_pages(),
        "commands.md": commands_page(),
        **command_pages(),
        "differences.md": differences_page(),
        "fields.md": fields_page(),
        "lines.md": lines_page(),
        "legacy.md": legacy_page(),
        "configuration.md": configuration_page(),
        "metrics.md": metrics_page(),
        "defaults.md": defaults_page(),
        "architecture.md": architecture_page(),
        **{name: refreshed((DOCS / name).read_text("utf-8"), PARTS) for name in WRITTEN},
    }


def main(arguments: list[str], docs: Path = DOCS) -> int:
    """Writes the pages and removes those left over, or with `--check` names what would change; returns the exit code."""
    try:
        wanted = pages()
    except (PageError, TerminalError, FileNotFoundError) as error:
        print(f"the pages can't be made: {error}", file=sys.stderr)
        return 1
    stale = [name for name, text in wanted.items() if not (docs / name).exists() or (docs / name).read_text("utf-8") != text]
    over = list(_left_over(docs, wanted))
    if "--check" in arguments:
        for what, names in (("stale", stale), ("left over", [file.relative_to(docs).as_posix() for file in over])):
            if names:
                print(f"{what}: {', '.join(f'docs/{name}' for name in names)}; run make docs", file=sys.stderr)
        return 1 if stale or over else 0
    for name in stale:
        file = docs / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(wanted[name], "utf-8")
    for file in over:
        file.unlink()
    return 0


def _left_over(docs: Path, wanted: dict[str, str]) -> Iterator[Path]:
    """Files in the folders of made pages that nobody makes any more."""
    for folder in FOLDERS:
        for file in sorted((docs / folder).glob("*")):
            if f"{folder}/{file.name}" not in wanted:
                yield file


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
