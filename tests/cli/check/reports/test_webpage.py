"""The report as a page: everything in it, nothing of a manifest as markup, nothing fetched, and of bounded size."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Final
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.cli.commands.check import pictures
from dynamo_webhooks.cli.commands.check.reports import html
from dynamo_webhooks.cli.yaml.load import Position, Source
from tests.cli.check.reports.results import assemble_result, everything, many, reported
from tests.cli.conftest import Command, Files
from tests.cli.repository import Repository
from tests.cli.samples import BAD, BAD_RULE, GOOD, NEEDS_GROVE

_VOID: Final = frozenset({"meta", "input", "img"})
HOSTILE: Final = "</pre></style></script><img src=x onerror=alert(1)><script>alert(1)</script>\"'&`"


class Page(HTMLParser):
    """A page as a reader of HTML sees it; an element that is closed in the wrong place is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}  # by the element that holds them
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in self.open[-1:]:
            self.texts.setdefault(tag, []).append(data)

    def values(self, attribute: str) -> list[str]:
        """All values of an attribute."""
        return [value or "" for _, attributes in self.elements if (value := attributes.get(attribute)) is not None]

    def count(self, tag: str) -> int:
        """How many elements there are of a name."""
        return sum(1 for name, _ in self.elements if name == tag)


def test_everything_is_said_and_every_link_leads_somewhere() -> None:
    text = html.document(everything(), "/nowhere")
    page = Page(text)
    for said in (
        "b.yaml:2: a value must stand here",
        "the cluster did not answer",
        "DYN106",
        "also schema-mismatch",
        "(baseline)",
        "fault",
    ):
        assert said in text
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    links = page.values("href")
    assert "#rule-ingress-host-required" in links
    assert {link.removeprefix("#") for link in links} <= {*ids}
    assert page.count("article") == 3 + 3  # findings, and pages of their rules


def test_nothing_is_fetched_and_only_the_pages_own_script_and_style_run() -> None:
    page = Page(html.document(everything(), "/nowhere"))
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.values("src"))
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on") or name == "style"]
    policy = dict(part.strip().split(" ", 1) for part in page.values("content")[0].split(";"))
    assert policy["default-src"] == "'none'"
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        [body] = page.texts[tag]
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert (page.count(tag), policy[directive]) == (1, f"'sha256-{digest}'")
    assert set(policy) == {"default-src", "img-src", "style-src", "script-src", "base-uri", "form-action"}


@given(st.text(), st.text(min_size=1).filter(lambda name: name.strip("./\0")))
def test_no_text_of_a_manifest_is_read_as_markup(message: str, name: str) -> None:
    def rendered(words: str, file: str) -> Page:
        fields = {"message": words, "fix": words, "path": words, "position": Position(1, 2, 3)}
        return Page(html.document(assemble_result(findings=[reported(source=Source(file, f"{words}: b\n"), **fields)]), "/nowhere"))

    harmless, hostile = rendered("word", "x"), rendered(f"{message}{HOSTILE}", f"x{name}<b>\"'")
    tags = [[tag for tag, _ in page.elements if tag not in ("code", "div", "i")] for page in (harmless, hostile)]
    assert tags[0] == tags[1]
    assert {name for _, attributes in hostile.elements for name in attributes} == {
        name for _, attributes in harmless.elements for name in attributes
    }
    assert harmless.texts["script"] == hostile.texts["script"]


def test_a_finding_is_marked_in_its_source_and_its_rule_explained(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    files(bad=BAD, grove=NEEDS_GROVE, good=GOOD)
    ran = command("check", ".", "-o", "html")
    page = Page(ran.out)
    assert ran.code == 1
    assert page.texts["mark"] == ["ingress"]
    assert BAD_RULE in page.texts["a"]
    assert page.texts["h3"][:2] == ["bad.yaml: 1 error", f"{BAD_RULE} "]
    assert "the fact grove is not known" in ran.out
    assert ran.out.count("<pre>") == ran.out.count("<h4>") >= 2
    assert ran.out == command("check", ".", "-o", "html").out


def test_graphs_are_drawn_and_one_that_can_not_be_is_named(command: Command, files: Files) -> None:
    files(bad=BAD, good=GOOD.replace("x/vllm:1.5.0", "</svg><script>"))
    files(broken=GOOD.replace("replicas: 2", "replicas: two"))
    files(long=GOOD.replace("good", "long") + "#" * pictures.MAX_PICTURE_CHARACTERS)
    page = Page(command("check", ".", "-o", "html").out)
    told = ["broken.yaml:10:17: DynamoGraphDeployment llm/good: ", "long.yaml: must have at most 1,000,000 characters to be drawn"]
    assert [one[: len(said)] for one, said in zip(page.texts["li"][:2], told, strict=True)] == told
    markdown = command("check", ".", "-o", "markdown").out
    assert [said for said in ("<summary>Not drawn: 2</summary>", *told) if said not in markdown] == []
    titles = page.values("alt")
    assert [title.partition(":")[0] for title in titles] == ["DynamoGraphDeployment llm/bad", "DynamoGraphDeployment llm/good"]
    for source in page.values("src"):
        root = ElementTree.fromstring(base64.b64decode(source.partition(",")[2]))  # noqa: S314 - our own text
        assert root.tag.endswith("svg")
        assert not [one for one in root.iter() if one.tag.endswith("script")]


def test_the_page_says_when_it_was_made_and_of_which_commit(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    folder = files(good=GOOD)
    assert '<p class="dim">1970-01-02 00:00 UTC</p>' in command("check", ".", "-o", "html").out
    repository = Repository(folder)
    repository.commit()
    commit = repository("rev-parse", "HEAD")[:12]
    assert f'<p class="dim">1970-01-02 00:00 UTC, commit {commit}</p>' in command("check", ".", "-o", "html").out
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert re.search(r'"dim">20\d\d-\d\d-\d\d \d\d:\d\d UTC, commit', command("check", ".", "-o", "html").out)


def test_with_a_revision_only_changed_graphs_are_drawn(command: Command, files: Files) -> None:
    folder = files(a=GOOD, b=GOOD.replace("good", "other"), c=GOOD.replace("good", "gone"))
    Repository(folder).commit()
    files(b=GOOD.replace("good", "other").replace("replicas: 2", "replicas: 3"), d=GOOD.replace("good", "new"))
    (folder / "c.yaml").unlink()
    report = command("check", ".", "--against", "HEAD", "-o", "markdown").out
    drawn = re.findall(r'subgraph g0\["DynamoGraphDeployment llm/(\w+):', report)
    marks = re.findall(r"<b>worker</b>: (\w+)<", report)
    assert list(zip(drawn, marks, strict=True)) == [("other", "scales"), ("new", "added"), ("gone", "removed")]
    files(a=GOOD, b=GOOD.replace("good", "other"), c=GOOD.replace("good", "gone"))
    (folder / "d.yaml").rename(folder / "e.yaml")
    Repository(folder).commit()
    (folder / "e.yaml").rename(folder / "f.yaml")
    assert "mermaid" not in command("check", ".", "--against", "HEAD", "-o", "markdown").out


def test_placeholders_are_drawn_without_their_values(command: Command, files: Files) -> None:
    files(a=GOOD.replace("x/vllm:1.5.0", "${IMAGE}"))
    for form in ("html", "markdown"):
        out = command("check", "a.yaml", "--set", "IMAGE=registry/secret-name:1", "-o", form).out
        images = "".join(base64.b64decode(one).decode() for one in re.findall(r"base64,([^\"]+)", out))
        assert "secret-name" not in out + images


def test_a_huge_result_is_bounded_and_says_what_it_leaves_out() -> None:
    text = html.document(many(30_000), "/nowhere")
    assert len(text) < html.MAX_FINDINGS_CHARACTERS + 1_000_000
    left = re.search(r"([\d]+) more findings left out", text)
    assert left is not None
    assert text.count("<article data-level") + int(left[1]) == 30_000
    long = reported(source=Source("a.yaml", "k" * 3_000_000), position=Position(1, 1_500_000, 1_600_000), message="x" * 2_000)
    assert len(html.document(assemble_result(findings=[long] * 100), "/nowhere")) < 1_000_000
    assert len(html.document(assemble_result(unreachable=["x" * 9_000] * 2_000), "/nowhere")) < 3_000_000
