"""The playground in a real browser (`make browser`): typing, links, both versions, lines, offline use, and input that means harm."""

import asyncio
import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.browser import Browser, browser, contrast, luminance
from tests.cli.docs.test_site_browser import serving
from tests.cli.samples import BAD, BAD_RULE, GOOD
from tools.playground.__main__ import HERE, ROOT, SCRATCH, SITE, build

_WAIT_SECONDS: Final = 180  # for an answer, on a machine that does much else
EXAMPLE: Final = (HERE / "page" / "example.yaml").read_text()
PANEL: Final = "document.getElementById('panel').innerText"
STATUS: Final = "document.getElementById('status').textContent"
READY: Final = "document.querySelectorAll('#panel li a').length"
RULES: Final = "[...document.querySelectorAll('#panel li a')].map(one => one.textContent)"
BUSY: Final = (
    "document.getElementById('panel').getAttribute('aria-busy') === 'true' || document.getElementById('status').textContent === 'Starting…'"
)
_MORE: Final = """\
    - name: more{}
      type: decode
      podTemplate: {{spec: {{containers: [{{name: main, image: "x/sglang:1.5.0"}}]}}}}
"""
FIVE: Final = EXAMPLE.replace("replicas: -1", "replicas: 1") + "".join(map(_MORE.format, range(3)))


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    if not (SITE / "sw.js").exists():  # `make browser` has built it
        build(SITE)
    with serving(SITE.parent) as server:
        yield f"http://127.0.0.1:{server.server_port}"


async def until(page: Browser, expression: str) -> Any:
    """The value of an expression once it is true."""
    async with asyncio.timeout(_WAIT_SECONDS):
        while not (value := await page.ask(expression)):  # noqa: ASYNC110 - what is waited for is in another process
            await asyncio.sleep(0.05)
    return value


async def write(page: Browser, text: str, expected: str) -> str:
    """Replaces the text as typing does, and waits for the panel or the status to say what is expected."""
    await page.ask("document.querySelector('.cm-content').focus(), document.execCommand('selectAll')")
    await page.call("Input.insertText", text=text)
    try:
        await until(page, f"!({BUSY}) && ({STATUS} + {PANEL}).includes({json.dumps(expected)})")
    except TimeoutError:
        pytest.fail(f"the page must say {expected!r}, got {await page.ask(f'[{BUSY}, {STATUS}, {PANEL}].join()')!r}")
    panel: str = await page.ask(PANEL)
    return panel


def fragment(state: object) -> str:
    """The fragment of a state, as the page writes it."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(json.dumps(state).encode()) + packer.flush()
    return "#z=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


async def test_a_broken_graph_is_marked_as_one_types(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with browser() as page:
        await page.open(f"{site}/playground/")
        first = "document.querySelectorAll('#panel li').length && Math.round(performance.now())"
        ready = await until(page, first)
        assert await page.ask(RULES) == ["replicas-non-negative", "compilation-cache-mount-required"]
        marked = "[...document.querySelectorAll('.cm-lintRange-error')].map(one => one.closest('.cm-line').innerText.trim())"
        assert await until(page, f"(marks => marks.length > 1 && marks)({marked})") == [
            "replicas: -1",
            "compilationCache: {pvcName: kernels}",
        ]
        await write(page, BAD, BAD_RULE)
        assert await until(page, marked) == ["ingress: {enabled: true}"]
        times = []
        for number in range(6):
            await write(page, FIVE.replace("name: assistant", f"name: again{number}"), "1 error")
            times.append(await page.ask("Number(document.getElementById('status').dataset.milliseconds)"))
        with capsys.disabled():
            print(f"\nplayground: first answer after {ready} ms, five components in {sorted(times)[len(times) // 2]} ms, {times}")
        assert {url for url in page.requested if not url.startswith((f"{site}/", "data:"))} == set()
        assert any(url.endswith("pyodide.asm.wasm") for url in page.requested)  # those of the worker are seen, too
        assert page.complaints == []


async def test_a_finding_leads_to_its_line_and_its_rule(site: str) -> None:
    async with browser() as page:
        await page.open(f"{site}/playground/")
        await until(page, READY)
        await page.ask("document.querySelector('#panel .place').click()")
        assert await until(page, "document.querySelector('.cm-activeLine').innerText.trim()") == "replicas: -1"
        assert await page.ask("document.activeElement.className.includes('cm-content')")
        assert await page.ask("document.querySelector('#panel li a').href") == f"{site}/rules/replicas-non-negative/"
        await page.follow("#panel li a")
        assert await page.ask("location.pathname") == "/rules/replicas-non-negative/"
    assert (ROOT / "docs" / "rules" / "replicas-non-negative.md").exists()


async def test_each_command_answers_in_both_versions_and_by_line(site: str) -> None:
    async with browser() as page:
        await page.open(f"{site}/playground/")
        await until(page, READY)
        chosen = "document.getElementById('tab-{}').click()"
        for view, words in {
            "answer": 'The DynamoGraphDeployment "assistant" is invalid',
            "convert": "nvidia.com/v1alpha1",
            "default": "mut-",
            "render": "kind: ServiceAccount",
            "explain": "compilation-cache-mount-required (DYN211, error)",
        }.items():
            await page.ask(chosen.format(view))
            await until(page, f"!({BUSY}) && {PANEL}.includes({json.dumps(words)})")
        assert page.complaints == []
        await page.ask(chosen.format("check"))
        await until(page, READY)
        changed = "document.getElementById('{0}').value = '{1}', document.getElementById('{0}').dispatchEvent(new Event('change'))"
        await page.ask(changed.format("version", "v1alpha1"))
        await until(page, f"{PANEL}.includes('spec.services[frontend].replicas') || {PANEL}.includes('spec.services.frontend.replicas')")
        assert await page.ask("document.getElementById('version').value") == "v1alpha1"
        await page.ask(changed.format("line", "1.2"))
        await until(page, f"{STATUS}.includes('for operator 1.2')")
        # the keyboard alone
        await page.ask("document.getElementById('tab-check').focus()")
        await page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
        await until(page, "document.activeElement.id === 'tab-answer' && document.activeElement.ariaSelected === 'true'")


async def test_an_address_holds_all_and_works_offline(site: str) -> None:
    with serving(SITE.parent) as server:
        async with browser() as page:
            await page.open(f"http://127.0.0.1:{server.server_port}/playground/")
            await until(page, READY)
            await write(page, BAD, BAD_RULE)
            link = await until(page, "location.hash.startsWith('#z=') && location.href")
            await page.ask("navigator.serviceWorker.ready.then(() => true)")
            server.shutdown()
            server.socket.close()
            await page.open("about:blank")
            await page.open(link)
            await until(page, f"{PANEL}.includes({json.dumps(BAD_RULE)})")
            assert await page.ask("document.querySelector('.cm-content').innerText.includes('ingress: {enabled: true}')")
    async with browser() as page:
        state = {"text": GOOD, "view": "answer", "line": "1.2", "facts": "grove=true"}
        await page.open(f"{site}/playground/{fragment(state)}")
        await until(page, f"{STATUS}.includes('for operator 1.2: 0 errors')")
        assert await page.ask("document.getElementById('facts').value") == "grove=true"
        assert await page.ask("document.querySelector('[role=tab][aria-selected=true]').textContent") == "check --answer"


async def test_a_refusal_is_explained(site: str) -> None:
    refusal = (
        'Error from server: error when creating "graph.yaml": admission webhook "vdynamographdeploymentv1beta1.kb.io" denied the request: '
        'spec.restart.strategy.order[1]: must be a component of this graph, got "wroker" [restart-order-unknown]'
    )
    async with browser() as page:
        await page.open(f"{site}/playground/")
        await until(page, READY)
        await write(page, refusal, "restart-order-unknown (DYN135, error)")
        assert await page.ask("document.querySelector('[role=tab][aria-selected=true]').textContent") == "explain"
        assert await page.ask("[...document.querySelectorAll('#panel a')].some(one => one.pathname === '/rules/restart-order-unknown/')")


async def test_malicious_input_does_no_harm(site: str) -> None:
    async with browser() as page:
        bomb = fragment({"text": "x" * 20_000_000, "view": "check", "line": "1.5", "facts": ""})
        odd = fragment({"text": GOOD, "view": "constructor", "line": "<b>", "facts": ""})
        for garbage in ("#z=%%%", "#z=AAAA", bomb, "#<img src=x onerror=window.ran=1>", fragment([1]), fragment(None)):
            await page.open("about:blank")
            await page.open(f"{site}/playground/{garbage}")
            assert (await until(page, "document.querySelector('.cm-content').innerText.trim()")).startswith(EXAMPLE[:40])
        await page.open("about:blank")
        await page.open(f"{site}/playground/{odd}")
        await until(page, f"{STATUS}.includes('for operator 1.6: 0 errors')")
        html = "<img src=x onerror=ran=1>"
        panel = await write(
            page, BAD.replace("  name: bad", f"  name: '{html}'\n  annotations: {{nvidia.com/enable-grove: '{html}'}}"), "must"
        )
        assert html in panel
        await page.ask("document.getElementById('tab-render').click()")
        await until(page, f"!({BUSY})")
        await page.ask("document.getElementById('tab-check').click()")
        await until(page, f"!({BUSY})")
        await write(page, "apiVersion: nvidia.com/v1beta1\n" + "a: " + "[" * 5_000, "nested deeper")
        await write(page, "apiVersion: nvidia.com/v1beta1\n" + "a" * 300_000, "must have at most 256 KiB")
        await write(page, "apiVersion: a\nx: &a [1]\n" + "".join(f"y{n}: &b{n} [*a, *a]\n" for n in range(50)), "0 objects")
        await write(page, BAD, BAD_RULE)
        assert await page.ask("typeof window.ran") == "undefined"
        assert await page.ask("document.querySelectorAll('#panel script, #panel [onerror]').length") == 0


@pytest.mark.parametrize("width", [1_280, 390])
@pytest.mark.parametrize("dark", [False, True])
async def test_both_themes_can_be_read_at_each_width(site: str, *, dark: bool, width: int) -> None:
    async with browser() as page:
        await page.open(f"{site}/playground/", dark=dark, width=width)
        await until(page, READY)
        style = "getComputedStyle(document.querySelector('{}')).{}"
        behind = luminance(await page.ask(style.format("body", "backgroundColor")))
        assert (behind < 0.1) is dark
        for place in ("#status", ".tok-propertyName", ".tok-comment", "label", "[role=tab]"):
            assert contrast(luminance(await page.ask(style.format(place, "color"))), behind) > 4.5, place
        assert await page.ask("document.documentElement.scrollWidth <= innerWidth")
        await page.ask((SCRATCH / "node_modules" / "axe-core" / "axe.min.js").read_text() + "; 1")
        faults = await page.ask("axe.run().then(({violations}) => violations.map(({id, impact, nodes}) => [id, impact, nodes[0].html]))")
        assert [fault for fault in faults if fault[1] in ("serious", "critical")] == []
