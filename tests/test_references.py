"""No page, comment or string cites what a reader of this repository can't open."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
# what others wrote, and is kept byte for byte; and the patterns themselves
EXEMPT: Final = ("tests/golden/recorded/", "tests/cli/check/reports/schemas/", "tests/test_references.py")
CITATIONS: Final = {
    "a number of a list that isn't here": re.compile(r"(?<![\w/.\-\"'{$])[QGAXRM]\d{1,2}\b(?![\w\"'}])"),
    "a named rule of a list that isn't here": re.compile(r"\bR-[A-Z]{2,}\b"),
    "an appendix": re.compile(r"\b(?:Appendix|Annex) [A-Z]\b"),
    "a section by number": re.compile(r"\b[Ss]ections? \d|\bchapters? \d"),
    "a specification that isn't here": re.compile(
        r"(?<![\w/])spec/[a-z]+\.md|\b(?:admission|conversion|rendering|operations) specification\b"
    ),
}
DIFFERENCE: Final = re.compile(r"(?<![\w-])[QGC]-\d\d\b")
PAGE: Final = re.compile(r"(?<![\w/.<*{-])((?:[\w-]+/)*[\w-]+\.md)\b")


def _texts(*patterns: str) -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return {name: (ROOT / name).read_text() for name in listed if not name.startswith(EXEMPT) and not (ROOT / name).is_symlink()}


TEXTS: Final = _texts("*.md", "*.py", "*.txt", "*.yaml", "Makefile", "pyproject.toml", ":!api/generated", ":!manifests/crds")


@pytest.mark.parametrize("what", CITATIONS)
def test_nothing_cites_what_is_not_in_the_repository(what: str) -> None:
    found = [
        f"{name}:{number}: {match[0]}"
        for name, text in TEXTS.items()
        for number, line in enumerate(text.splitlines(), start=1)
        for match in CITATIONS[what].finditer(line)
    ]
    assert found == []


def test_every_difference_that_is_cited_by_number_stands_on_the_page() -> None:
    page = set(DIFFERENCE.findall(TEXTS["docs/differences.md"]))
    cited = {(name, number) for name, text in TEXTS.items() for number in DIFFERENCE.findall(text)}
    assert len(cited) > 100
    assert sorted(each for each in cited if each[1] not in page) == []


def test_every_page_that_code_names_exists() -> None:
    pages = {Path(name).name for name in _texts("*.md")}
    code = {name: text for name, text in TEXTS.items() if name.endswith(".py") and not name.startswith("tests/")}
    named = {(name, page) for name, text in code.items() for page in PAGE.findall(text)}
    assert len(named) > 20
    assert sorted(each for each in named if Path(each[1]).name not in pages) == []
