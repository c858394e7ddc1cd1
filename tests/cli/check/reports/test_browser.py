"""The page of a report in a real browser (`make browser`): what runs, what is fetched, the filter, links, and both themes."""

from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.cli.commands.check.reports import html
from dynamo_webhooks.cli.yaml.load import Position, Source
from tests.cli.check.reports.browser import Browser, browser
from tests.cli.check.reports.results import assemble_result, many, reported
from tests.cli.check.reports.test_webpage import HOSTILE
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, GOOD, NEEDS_GROVE, WARNED

pytestmark = pytest.mark.browser
SHOWN = "[...document.querySelectorAll('article[data-level]')].filter(one => one.offsetParent).length"
TYPED = (
    "document.getElementById('words').value = '{}'; document.getElementById('words').dispatchEvent(new Event('input', {{bubbles: true}})); "
)


async def seen(page: Browser, *words: str) -> list[Any]:
    """What each expression is."""
    return [await page.ask(word) for word in words]


async def test_a_report_is_filtered_and_fetches_nothing(command: Command, files: Files) -> None:
    folder = files(bad=BAD, good=GOOD, grove=NEEDS_GROVE, warned=WARNED)
    (folder / "report.html").write_text(command("check", ".", "-o", "html").out)
    async with browser() as page:
        await page.open(folder / "report.html")
        assert await seen(page, SHOWN, "document.getElementById('count').textContent") == [2, "2 of 2 shown"]
        assert await seen(page, TYPED.format(BAD_RULE) + SHOWN, TYPED.format("no such word") + SHOWN, TYPED.format("") + SHOWN) == [1, 0, 2]
        await page.ask("document.querySelector('[type=checkbox][value=error]').click()")
        assert await page.ask(SHOWN) == 1
        await page.ask("document.querySelector('[type=checkbox][value=error]').click()")
        assert await page.ask(f"document.querySelector('[data-word=\"{BAD_RULE}\"]').click(), {SHOWN}") == 1
        assert await page.ask(f"document.querySelector('a[href=\"#rule-{BAD_RULE}\"]').click(), document.querySelector(':target').id") == (
            f"rule-{BAD_RULE}"
        )
        images = "[...document.images].every(one => one.complete && one.naturalWidth > 100) && document.images.length"
        assert await page.ask(images) == 4
        assert {one for one in page.requested if not one.startswith("data:image/svg+xml")} == {(folder / "report.html").as_uri()}
        assert page.complaints == []


async def test_nothing_of_a_manifest_runs(tmp_path: Path) -> None:
    fields = {"message": HOSTILE, "path": HOSTILE, "fix": HOSTILE, "position": Position(1, 2, 9)}
    text = html.document(assemble_result(findings=[reported(source=Source(f"a{HOSTILE}", HOSTILE), **fields)]), "/nowhere")
    (tmp_path / "a.html").write_text(
        text.replace("</body>", "<script>window.ran = 1</script><p style='color:red' onclick='x()'>x</p></body>")
    )
    async with browser() as page:
        await page.open(tmp_path / "a.html")
        assert await seen(page, "typeof window.ran", "document.scripts.length", SHOWN) == ["undefined", 2, 1]
        assert await page.ask("document.querySelector('article code').textContent.includes('onerror=alert(1)')")
        assert any("Content Security Policy" in one for one in page.complaints)  # the policy forbade what was smuggled in


@pytest.mark.parametrize("dark", [False, True])
async def test_both_themes_can_be_read(command: Command, files: Files, *, dark: bool) -> None:
    folder = files(bad=BAD, warned=WARNED)
    (folder / "report.html").write_text(command("check", ".", "-o", "html").out)
    async with browser() as page:
        await page.open(folder / "report.html", dark=dark)
        style = "getComputedStyle(document.querySelector('{}')).{}"
        behind = luminance(await page.ask(style.format("body", "backgroundColor")))
        card = luminance(await page.ask(style.format("article", "backgroundColor")))
        assert (behind < 0.1) is dark
        for place in ("body", ".error", ".warning", ".dim", "a", "mark", "button"):
            word = luminance(await page.ask(style.format(place, "color")))
            ground = luminance(await page.ask(style.format("mark", "backgroundColor"))) if place == "mark" else card
            assert contrast(word, ground) > 4.5, place
        picture = await page.picture()
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 20_000


async def test_a_large_report_is_filtered_in_a_moment(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(html.document(many(3_000), "/nowhere"))
    async with browser() as page:
        await page.open(tmp_path / "a.html")
        assert await page.ask(TYPED.format("warn-dynamo-namespace") + SHOWN) == 750


def luminance(colour: str) -> float:
    """How bright a colour such as rgb(1, 2, 3) is, as WCAG has it."""
    parts = [int(word) / 255 for word in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: float, other: float) -> float:
    """The ratio of WCAG between two."""
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)
