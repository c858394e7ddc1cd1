"""The words of Markdown pages: every term of the glossary is used, and no private metaphor stands in a page."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
GLOSSARY: Final = ROOT / "docs" / "glossary.md"
METAPHORS: Final = (
    *("comes home", "come home", "at home", "buries", "nobody serves"),
    *("throw the dice", "raise the dead", "author thinks", "who we are on"),
    *("bug of ours", "fault of ours", "nobody foresaw", "is talk", "goes home", "somebody else's"),
    *("stands behind", "the words behind", "in vain", "spelled otherwise", "says so itself"),
)


def _pages() -> list[Path]:
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in names]


def test_every_term_of_the_glossary_is_used_elsewhere_and_stands_in_order() -> None:
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY.read_text(), re.MULTILINE)
    assert terms == sorted(terms, key=str.lower)
    assert len(terms) > 20
    text = " ".join(page.read_text() for page in _pages() if page != GLOSSARY)
    assert [term for term in terms if not re.search(rf"\b{re.escape(term)}s?\b", text, re.IGNORECASE)] == []


def test_no_page_uses_a_private_metaphor() -> None:
    texts = {page.relative_to(ROOT): " ".join(page.read_text().lower().split()) for page in _pages()}
    found = [f"{page}: {phrase}" for page, text in texts.items() for phrase in METAPHORS if phrase in text]
    assert found == []
