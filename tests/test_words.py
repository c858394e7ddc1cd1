"""The words of pages and code: every term of the glossary is used, no page has private metaphors, and all rooms are plain.

And no page, comment or string cites what a reader of this repository can't open.
"""

import ast
import io
import re
import subprocess
import tokenize
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
GLOSSARY: Final = "docs/glossary.md"
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
# their text is in pods, which another text would replace
IN_PODS: Final = ("reconciler/render/multinode/wait_for_leader.py", "reconciler/request/copier.py")
# names of classes and functions that say what happened, and not what they are or do
PARTICIPLES: Final = re.compile(
    r"_?(?:Seen|Told|Said|Asked|Places?|Ways?|Held|Heard|Sight|Several|Territory|Wish|Waits|Found|Made)"
    r"|_?(?:seen|told|said|asked|places?|ways?|held|heard|sight|several|rest|shown|found|made)"
)
# what others wrote, and is kept byte for byte; and the patterns themselves
EXEMPT: Final = ("tests/golden/recorded/", "tests/cli/check/reports/schemas/", "tests/test_words.py")
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


PAGES: Final = _texts("*.md")
TEXTS: Final = _texts(
    "*.md", "*.py", "*.txt", "*.yaml", "Makefile", "pyproject.toml", ":!api/generated", ":!manifests/crds", ":!cel/regex/scripts.txt"
)


def test_every_term_of_the_glossary_is_used_elsewhere_and_stands_in_order() -> None:
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", PAGES[GLOSSARY], re.MULTILINE)
    assert terms == sorted(terms, key=str.lower)
    assert len(terms) > 20
    text = " ".join(text for name, text in PAGES.items() if name != GLOSSARY)
    assert [term for term in terms if not re.search(rf"\b{re.escape(term)}s?\b", text, re.IGNORECASE)] == []


def test_no_page_uses_a_private_metaphor() -> None:
    texts = {page: " ".join(text.lower().split()) for page, text in PAGES.items()}
    matches = [f"{page}: {phrase}" for page, text in texts.items() for phrase in METAPHORS if phrase in text]
    assert matches == []


def _avoided(name: str, text: str) -> list[str]:
    """The avoided words of a file's strings and comments, with their lines; names in braces and strings of one word are code."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    texts = [
        (token.start[0], re.sub(r"\{[^{}]*\}|^[\"'][\w.]+[\"']$|`[\w.]+`", "", token.string))
        for token in tokens
        if token.type in (tokenize.STRING, tokenize.COMMENT)
    ]
    return [f"{name}:{line}: {word}" for line, text in texts for word in AVOIDED.findall(text)]


def test_every_room_is_in_plain_english() -> None:
    modules = {name: text for name, text in TEXTS.items() if name.endswith(".py") and not name.startswith(("tests/", *IN_PODS))}
    assert len(modules) > 500
    assert [place for name, text in modules.items() for place in _avoided(name, text)] == []


def test_classes_are_named_by_nouns_and_functions_by_verbs() -> None:
    defined = [
        f"{name}: {node.name}"
        for name, text in TEXTS.items()
        if name.endswith(".py") and not name.startswith("tests/")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and PARTICIPLES.fullmatch(node.name)
    ]
    assert defined == []


@pytest.mark.parametrize("what", CITATIONS)
def test_nothing_cites_what_is_not_in_the_repository(what: str) -> None:
    citations = [
        f"{name}:{number}: {match[0]}"
        for name, text in TEXTS.items()
        for number, line in enumerate(text.splitlines(), start=1)
        for match in CITATIONS[what].finditer(line)
    ]
    assert citations == []


def test_every_difference_that_is_cited_by_number_is_declared_and_no_page_shows_a_number() -> None:
    declared = set(DIFFERENCE.findall(TEXTS["tools/manual/conversion_differences.py"]))
    cited = {(name, number) for name, text in TEXTS.items() for number in DIFFERENCE.findall(text)}
    assert len(cited) > 60
    assert sorted(each for each in cited if each[1] not in declared or each[0].startswith("docs/")) == []


def test_every_page_that_code_names_exists() -> None:
    pages = {Path(name).name for name in PAGES}
    code = {name: text for name, text in TEXTS.items() if name.endswith(".py") and not name.startswith("tests/")}
    named = {(name, page) for name, text in code.items() for page in PAGE.findall(text)}
    assert len(named) > 20
    assert sorted(each for each in named if Path(each[1]).name not in pages) == []
