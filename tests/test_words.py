"""The words of pages and code: every term of the glossary is used, no page has private metaphors, and revised rooms are plain."""

import io
import re
import subprocess
import tokenize
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
# words that docstrings, comments and messages of code avoid: roles without a name, reports that speak, clauses in place of nouns
AVOIDED: Final = re.compile(
    r"\b(nobody|somebody|anybody|everybody|whoever|whose is|who asks|told|tells?|hears?|heard|said of|is said|says? so|speaks? for|of ours"
    r"|stands?|lies|what (?:is|was|it))\b",
    re.IGNORECASE,
)
# rooms whose English has been revised; the others follow
REVISED: Final = ("admission", "certs", "cli", "conversion", "kube", "tools", "webhooks")


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


def _avoided(file: Path) -> list[str]:
    """The avoided words of a file's strings and comments, with their lines; names in braces and strings of one word are code."""
    tokens = tokenize.generate_tokens(io.StringIO(file.read_text()).readline)
    texts = [
        (token.start[0], re.sub(r"\{[^{}]*\}|^[\"'][\w.]+[\"']$|`[\w.]+`", "", token.string))
        for token in tokens
        if token.type in (tokenize.STRING, tokenize.COMMENT)
    ]
    return [f"{file.relative_to(ROOT)}:{line}: {word}" for line, text in texts for word in AVOIDED.findall(text)]


def test_revised_rooms_are_in_plain_english() -> None:
    files = subprocess.run(["git", "ls-files", *REVISED], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    modules = [ROOT / name for name in files if name.endswith(".py")]
    assert len(modules) > 80
    assert [place for module in modules for place in _avoided(module)] == []
