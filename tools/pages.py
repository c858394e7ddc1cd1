"""Writes the generated pages of docs/ (`python -m tools.pages`; `--check` fails when one is stale, missing or left over).

Made as a whole are the pages of rules and that of the chart. In pages that people write only the outputs of commands and marked parts are
(tools/manual/console.py).
"""

import sys
from pathlib import Path
from typing import Final

from dynamo_webhooks.cli.console.program import COMMANDS
from tools.manual.console import PageError, TerminalError, refresh
from tools.manual.parts import PARTS
from tools.manual.rules import make_rule_pages
from tools.manual.values import page
from tools.written import ROOT, update

DOCS: Final = ROOT / "docs"
# by people, with parts that are made
_PAGES: Final = """
architecture changing-workers ci commands configuration defaults differences editors ended-pods fields gitops lines metrics refusals rules
scale-to-zero sessions
"""
WRITTEN: Final = tuple(f"{name}.md" for name in (*_PAGES.split(), *(f"commands/{name}" for name in COMMANDS)))
CHART: Final = "../manifests/chart/README.md"
FOLDERS: Final = ("rules", "commands")  # which hold no other pages


def pages() -> dict[str, str]:
    """Every page as it has to be, by its file below docs/.

    Raises: FileNotFoundError for a page by people that isn't there; PageError and TerminalError for one whose commands can't be shown.
    """
    return {CHART: page(), **make_rule_pages(), **{name: refresh((DOCS / name).read_text("utf-8"), PARTS) for name in WRITTEN}}


def main(arguments: list[str], docs: Path = DOCS) -> int:
    """Writes the pages and removes those left over, or with `--check` names what would change; returns the exit code."""
    try:
        wanted = pages()
    except (PageError, TerminalError, FileNotFoundError) as error:
        print(f"the pages can't be made: {error}", file=sys.stderr)
        return 1
    files = (file for folder in FOLDERS for file in (docs / folder).glob("*"))
    return update({docs / name: text.encode() for name, text in wanted.items()}, arguments, files)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
