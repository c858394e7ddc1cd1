"""The built site (`make site`): its links, what it loads and how much, and what people see of it in a real browser."""

import filecmp
import json
import os
import re
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from dynamo_webhooks.cli.commands.explain.message import find
from tests.browser import Browser, browser
from tests.cli.docs.test_site import SHORT, recorded_messages
from tests.golden.corpus import cases

pytestmark = pytest.mark.browser
ROOT: Final = Path(__file__).parents[3]
SITE: Final = ROOT / "build" / "site"
HOME: Final = "http://site/"
_LOADS: Final = {"script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "source": ("src", "srcset"), "video": ("src",)}
_RELATIONS: Final = {"stylesheet", "icon", "preload", "preconnect", "modulepreload", "manifest", "dns-prefetch"}


class _Page(HTMLParser):
    """What a page names: its anchors, its links, and what a browser fetches for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if tag == "link" and _RELATIONS & set(attributes.get("rel", "").split()):
            self.loads.append(attributes["href"])
        self.loads += [attributes[name] for name in _LOADS.get(tag, ()) if name in attributes]


def _address(file: Path) -> str:
    return HOME + file.relative_to(SITE).as_posix().removesuffix("index.html")


@cache
def _pages() -> dict[str, _Page]:
    """The pages of docs/ by address; a page of the playground is its own."""
    files = [file for file in sorted(SITE.rglob("*.html")) if file.name != "404.html" and "playground" not in file.parts]
    assert len(files) > 250, "run make site first"
    return {_address(file): _Page(file.read_text()) for file in files}


def _file(address: str) -> Path:
    path = unquote(urlsplit(address).path).lstrip("/")
    return SITE / path / "index.html" if path.endswith("/") or not path else SITE / path


def test_every_link_leads_to_a_page_and_place_of_the_site() -> None:
    rules = {file.stem for file in (ROOT / "docs" / "rules").glob("*.md")}
    assert {f"{HOME}rules/{name}/" for name in rules} <= _pages().keys()
    dead = []
    for page, read in _pages().items():
        for link in (href for href in read.links if not href.startswith(("http://", "https://", "mailto:", "javascript:"))):
            target, _, anchor = urljoin(page, link).partition("#")
            known = _pages().get(target)
            if not _file(target).is_file() or (known and anchor and unquote(anchor) not in known.anchors):
                dead.append(f"{page}: {link}")
    assert dead == []


def test_no_page_and_no_style_loads_from_elsewhere() -> None:
    loads = {load for read in _pages().values() for load in read.loads}
    assert {load for load in loads if urlsplit(load).netloc} == set()
    for file in SITE.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?(?:https?:)?//", file.read_text()), file


def test_the_site_is_small_and_so_is_the_first_load_of_a_rule() -> None:
    sizes = {file: file.stat().st_size for file in SITE.rglob("*") if file.is_file()}
    assert sum(sizes.values()) < 40e6
    for page, read in _pages().items():
        if page.startswith(f"{HOME}rules/"):
            config = json.loads(re.findall(r'id="__config"[^>]*>(.*?)</script>', _file(page).read_text())[0])
            loads = {_file(page), *(_file(urljoin(page, load)) for load in (*read.loads, config["search"]))}
            if page != f"{HOME}rules/":
                assert sum(sizes[file] for file in loads) < 300e3, page


def test_the_site_is_built_the_same_twice(tmp_path: Path) -> None:
    program = (ROOT / "build" / "site-venv" / "bin" / "mkdocs", "build", "-q", "--strict", "-f", "build/site-source/mkdocs.yml")
    subprocess.run([*program, "-d", tmp_path / "site"], cwd=ROOT, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
    made = sorted(file.relative_to(tmp_path / "site").as_posix() for file in (tmp_path / "site").rglob("*") if file.is_file())
    assert filecmp.cmpfiles(SITE, tmp_path / "site", made, shallow=False)[1:] == ([], [])


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Says nothing: a failed test shows what the browser asked for."""


@contextmanager
def serving(folder: Path) -> Iterator[ThreadingHTTPServer]:
    """A server of a folder's files on a port of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The address of the built site."""
    assert (SITE / "index.html").exists(), "run make site first"
    with serving(SITE) as server:
        yield f"http://127.0.0.1:{server.server_port}/"


@asynccontextmanager
async def _shown(address: str, **how: Any) -> AsyncIterator[Browser]:
    async with browser() as page:
        await page.open(address, **how)
        yield page


def _until(condition: str) -> str:
    """A script that waits up to 20 s for a condition, and returns its value."""
    wait = "await new Promise(go => setTimeout(go, 100))"
    return f"(async () => {{ for (let i = 0; i < 200; i++) {{ const found = {condition}; if (found) return found; {wait}; }} }})()"


AXE: Final = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations
  .filter(one => ['serious', 'critical'].includes(one.impact)).map(one => `${one.id}: ${one.nodes[0].target} of ${one.nodes.length}`))"""


@pytest.mark.parametrize("width", [1_300, 390])
@pytest.mark.parametrize("dark", [False, True])
async def test_nothing_keeps_people_from_reading(served: str, *, dark: bool, width: int) -> None:
    script = next((ROOT / "build" / "site-venv").rglob("axe.min.js")).read_text()
    async with browser() as page:
        for path in ("", "rules/", "rules/restart-order-unknown/", "commands/check/", "fields/dynamomodel-v1alpha1/"):
            await page.open(served + path, dark=dark, width=width)
            assert await page.ask("document.body.dataset.mdColorScheme") == ("slate" if dark else "default")
            await page.ask(f"{script}; 0")
            assert await page.ask(AXE) == [], path
            assert await page.ask("document.documentElement.scrollWidth <= innerWidth"), path
            assert len(await page.picture()) > 20_000
        assert {urlsplit(url).netloc for url in page.requested if not url.startswith("data:")} == {urlsplit(served).netloc}
        assert page.complaints == []


_BOX: Final = "document.querySelector('[data-md-component=search-query]')"
TYPE: Final = f"""(box => {{{{ box.focus(); box.value = {{words}}; box.dispatchEvent(new Event('input', {{{{bubbles: true}}}}));
  box.dispatchEvent(new KeyboardEvent('keyup', {{{{bubbles: true}}}})); }}}})({_BOX})"""
PASTE: Final = f"""(box => {{{{ const data = new DataTransfer(); data.setData('text', {{words}}); box.focus();
  box.dispatchEvent(new ClipboardEvent('paste', {{{{clipboardData: data, bubbles: true, cancelable: true}}}})); }}}})({_BOX})"""
FIRST: Final = _until("document.querySelector('.md-search-result__item a')?.href")
SAID: Final = _until("[...document.querySelectorAll('.said a')].map(link => new URL(link.href).pathname).join()")


async def test_a_rule_is_found_by_its_name(served: str) -> None:
    async with _shown(served) as page:
        assert not any(url.endswith(("search_index.json", "messages.json")) for url in page.requested)
        await page.ask(TYPE.format(words='"restart-order-unknown"'))
        assert urlsplit(await page.ask(FIRST)).path == "/rules/restart-order-unknown/"
        assert page.complaints == []


@pytest.mark.parametrize(
    ("words", "how", "rule"),
    [
        ("must be a component of this graph", TYPE, "restart-order-unknown"),
        ("* spec.services[a].replicas: must be 0 or more, got -1 [replicas-non-negative]", PASTE, "replicas-non-negative"),
        ('spec.restart.strategy.order[1]: must be a component of this graph, got "wroker"', PASTE, "restart-order-unknown"),
    ],
)
async def test_a_message_leads_to_its_rule(served: str, words: str, how: str, rule: str) -> None:
    async with _shown(f"{served}rules/kvt-weight-range/") as page:
        await page.ask(how.format(words=json.dumps(words)))
        assert f"/rules/{rule}/" in await page.ask(SAID)
        assert await page.ask(FIRST)
        assert page.complaints == []


async def test_recorded_refusals_lead_to_their_rules(served: str) -> None:
    # a sentence of few words leads there by the name that the server writes behind it
    notes = sorted({(rule, f"{message} [{rule}]" if rule in SHORT else message) for rule, message in recorded_messages()})
    async with _shown(served) as page:
        script = f"{json.dumps([message for _, message in notes])}.map(one => rulesSaying(one, texts))"
        rules = await page.ask(f"fetch('messages.json').then(answer => answer.json()).then(texts => {script})")
        assert page.complaints == []
    wrong = [(rule, message, names) for (rule, message), names in zip(notes, rules, strict=True) if rule not in names or len(names) > 6]
    assert (len(notes) > 300, wrong) == (True, [])


async def test_refusals_of_the_go_operator_lead_where_explain_leads(served: str) -> None:
    refused = [case["expect"]["note"] for case in cases("line15.ndjson.gz", "api") if not case["expect"]["accepted"]]
    notes = [*{re.sub(r'"c\d+"', "", note): note for note in refused}.values()]
    async with _shown(served) as page:
        script = f"{json.dumps(notes)}.map(one => linksOf(one, answers).map(([words, place]) => [words, place]))"
        answers = await page.ask(f"fetch('messages.json').then(answer => answer.json()).then(answers => {script})")
    wrong = []
    for note, links in zip(notes, answers, strict=True):
        wanted = {
            str(name)
            for page in find(note)
            for name in (page.get("rule"), page.get("message"), page.get("words"), *(rule["rule"] for rule in page.get("rules", ())))
        }
        if not links or not {words for words, _ in links} <= wanted:
            wrong.append((note, links, wanted))
    assert (len(notes) > 477, len(wrong), wrong[:3]) == (True, 0, [])


@pytest.mark.parametrize(
    ("words", "how", "place"),
    [
        ("--against", TYPE, "/commands/check/"),
        ('dynamomodels.nvidia.com is forbidden: User "a" cannot create resource "dynamomodels"', PASTE, "/refusals/"),
        ('error: Apply failed with 1 conflict: conflict with "first": .spec.modelName', PASTE, "/refusals/"),
        ('strict decoding error: unknown field "spec.modelNam"', PASTE, "/rules/unknown-field/"),
    ],
)
async def test_what_is_pasted_or_typed_leads_to_its_place(served: str, words: str, how: str, place: str) -> None:
    async with _shown(f"{served}rules/kvt-weight-range/") as page:
        await page.ask(how.format(words=json.dumps(words)))
        assert (await page.ask(SAID)).split(",")[0] == place  # with single slashes
        assert page.complaints == []


ROWS: Final = "[...document.querySelectorAll('tr[data-rule]')].filter(row => row.offsetParent).map(row => row.dataset.rule)"
CHOOSE: Final = """(field => {{ field.value = '{value}'; field.dispatchEvent(new Event('input', {{bubbles: true}})); }})(
  document.querySelector('.filters [name={name}]'))"""


async def test_the_index_of_rules_is_filtered_and_the_filter_is_an_address(served: str) -> None:
    async with _shown(f"{served}rules/") as page:
        everything = await page.ask(ROWS)
        await page.ask(CHOOSE.format(name="kind", value="DynamoModel"))
        models = await page.ask(ROWS)
        await page.ask(CHOOSE.format(name="words", value="LoRA"))
        adapters = await page.ask(ROWS)
        assert set(adapters) < set(models) < set(everything)
        assert "model-lora-uri-scheme" in adapters
        assert await page.ask("document.getElementById('shown').textContent") == f"{len(adapters)} of {len(everything)} rules"
        await page.open(await page.ask("location.href"))
        assert await page.ask(ROWS) == adapters
        await page.open(f"{served}rules/?since=1.5&operator=differs")
        assert await page.ask("document.querySelector('.filters [name=since]').value") == "1.5"
        assert len(await page.ask(ROWS)) < len(everything)
        await page.open(f"{served}rules/")
        await page.follow('a[href="restart-order-unknown/"]')
        assert "restart-order-unknown" in await page.ask("document.querySelector('h1').textContent")
