"""The language server, driven by a real client over a pipe: findings as you type, fields, completion and fixes."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from dynamo_webhooks.api.line import USUAL, Line
from dynamo_webhooks.cli.commands.check.selection import Choice
from dynamo_webhooks.cli.commands.lsp.answers import OFFERED, Asked, actions, find_problems, meaning, offers
from dynamo_webhooks.cli.console.exits import INTERRUPTED
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.cli.validation.pipeline import Settings
from dynamo_webhooks.policies.facts import Facts

URI = "file:///repo/a%20chat.yaml"
TEXT = """\
# 𝓤nsere
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: chat}
spec:
  components:
  - name: worker
    type: Worker
    replicas: "2"   # zwei
  - {name: dec, podTemplate: {metadata: {annotations: {a: 𝓤}}}, typ: decode}
---
kind: ConfigMap
apiVersion: v1
"""
ASKED = Asked(lambda _: Settings(Facts(operatorLine=Line.V1_2)), Choice())


class Editor:
    """A client with one open text."""

    def __init__(self, client: LanguageClient, uri: str = URI) -> None:
        self.client = client
        self.uri = uri
        self.told: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.version = 0

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]  # pygls leaves it out
        def told(params: types.PublishDiagnosticsParams) -> None:
            self.told.put_nowait(params)

    async def show(self, text: str) -> list[types.Diagnostic]:
        """Opens or changes the text; returns what the server says of it."""
        self.version += 1
        if self.version == 1:
            self.client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri, "yaml", 1, text)))
        else:
            whole = types.TextDocumentContentChangeWholeDocument(text)
            which = types.VersionedTextDocumentIdentifier(self.version, self.uri)
            self.client.text_document_did_change(types.DidChangeTextDocumentParams(which, [whole]))
        told = await asyncio.wait_for(self.told.get(), 60)
        assert (told.uri, told.version) == (self.uri, self.version)
        return list(told.diagnostics)


@asynccontextmanager
async def started(*flags: str, uri: str = URI, options: Any = None, capabilities: Any = None) -> AsyncIterator[Editor]:
    """A client of a server that was started with flags, until the end."""
    client = LanguageClient("test", "1")
    command = "import sys; from dynamo_webhooks.cli.main import main; sys.exit(main())"
    await client.start_io(sys.executable, "-c", command, "lsp", "--stdio", *flags)
    made = Editor(client, uri)
    wanted = types.InitializeParams(capabilities or types.ClientCapabilities(), initialization_options=options)
    await asyncio.wait_for(client.initialize_async(wanted), 60)
    client.initialized(types.InitializedParams())
    yield made
    await asyncio.wait_for(client.shutdown_async(None), 60)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]  # pygls leaves it out


@pytest_asyncio.fixture
async def editor() -> AsyncIterator[Editor]:
    async with started("--line", "1.2") as made:
        yield made


def edited(action: Any, text: str) -> tuple[str, list[str]]:
    """The text with an action's edits in it, and what these write."""
    lines = re.split("(?<=\n)|(?<=\r)(?!\n)", text)  # those of the protocol

    def offset(place: types.Position) -> int:
        units = lines[place.line].encode("utf-16-le")[: 2 * place.character]
        return sum(map(len, lines[: place.line])) + len(units.decode("utf-16-le"))

    edits = action.edit.changes[URI]
    for one in reversed(edits):
        text = text[: offset(one.range.start)] + one.new_text + text[offset(one.range.end) :]
    return text, [one.new_text for one in edits]


@pytest.mark.asyncio
async def test_an_editor_is_told_what_is_wrong_and_can_have_it_fixed(editor: Editor) -> None:
    found = await editor.show(TEXT)
    places = {(one.code, one.range.start.line, one.range.start.character, one.range.end.character) for one in found}
    at = TEXT.splitlines()[9].index("typ:") + 1  # the letter before it takes two units of the protocol
    assert places == {
        ("schema-mismatch", 7, 10, 16),
        ("wrong-type", 8, 14, 17),
        ("unknown-field", 9, at, at + 3),
    }
    assert {one.code: one.severity for one in found}["unknown-field"] == types.DiagnosticSeverity.Error
    whole = types.Range(types.Position(7, 0), types.Position(7, 5))
    which = types.TextDocumentIdentifier(URI)
    asked = types.CodeActionParams(which, whole, types.CodeActionContext([]))
    first, everything = await editor.client.text_document_code_action_async(asked) or ()
    assert edited(first, TEXT) == (TEXT.replace("Worker", "worker"), ["w"])
    fixed = TEXT.replace("Worker", "worker").replace('"2"', "2").replace("typ:", "type:")
    assert edited(everything, TEXT) == (fixed, ["w", "2", "e"])
    assert await editor.show(fixed) == []
    hover = await editor.client.text_document_hover_async(types.HoverParams(which, types.Position(8, 6)))
    assert hover is not None
    assert "`spec.components.*.replicas`" in hover.contents.value  # type: ignore[union-attr]  # Markdown was asked for
    assert await editor.client.text_document_hover_async(types.HoverParams(which, types.Position(11, 2))) is None
    await editor.show(fixed.replace("# zwei\n", "# zwei\n    sc\n"))
    asked_for = types.CompletionParams(which, types.Position(9, 6))
    offered = await editor.client.text_document_completion_async(asked_for)
    assert isinstance(offered, list)
    names = {one.label: one.insert_text for one in offered}
    assert names["scalingAdapter"] == "scalingAdapter: "
    assert "type" not in names  # which is there already
    assert "unreadable" in {one.code for one in await editor.show(TEXT + "---\na: [\n")}


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("  components:\n  - name: a\n    type: ", "decode"),
        ("  components:\n  - ", "name"),
        ("  ", "components"),
        ("  components:\n  - name: a\n    experimental:\n      gpuMemoryService:\n        mode: ", "InterPod"),
    ],
)
def test_what_can_stand_at_a_place_is_offered(typed: str, wanted: str) -> None:
    text = f"apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {{name: g}}\nspec:\n{typed}"
    lines = text.split("\n")
    assert wanted in {one.text for one in offers("a", text, ASKED, len(lines), len(lines[-1]) + 1)}
    assert offers("a", text.replace("nvidia.com", "example.com"), ASKED, len(lines), len(lines[-1]) + 1) == []


@pytest.mark.parametrize("line", Line)
def test_what_is_offered_is_of_the_line(line: Line) -> None:
    text = "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {name: g}\nspec:\n  components:\n  - "
    asked = ASKED._replace(settings=lambda _: Settings(Facts(operatorLine=line)))
    names = {one.text for one in offers("a", text, asked, 6, 5)}
    assert ("minAvailable" in names, "replicas" in names) == (line >= "1.3", True)


def test_the_server_follows_the_project_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: list[Asked]) -> None:
    (tmp_path / ".dynamo-webhooks.yaml").write_text("line: '1.5'\n")
    monkeypatch.chdir(tmp_path)
    assert [main(["lsp"]), main(["lsp", "--line", "1.2"]), main(["lsp", "--no-project"])] == [0, 0, 0]
    assert [asked.settings("").line for asked in served] == ["1.5", "1.2", USUAL]


PIECES = st.sampled_from([*TEXT.splitlines(keepends=True), "  - ", "spec:", "\t", "- [", "{", "}", "\u2028", "&a *a", "𝓤", "x: y"])


@given(st.lists(PIECES, max_size=12).map("".join), st.integers(-1, 14), st.integers(-1, 30))
def test_no_text_and_no_place_raises(text: str, line: int, column: int) -> None:
    text = f"apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\n{text}"
    find_problems("a", text, ASKED)
    assert isinstance(meaning("a", text, line, column), str)
    assert isinstance(offers("a", text, ASKED, line, column), list)
    assert all(one.text != text for one in actions("a", text, ASKED, line, line + 2))


def test_a_whole_file_is_offered_some_single_edits_and_one_for_all() -> None:
    text = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: g}\nspec:\n  services:\n" + "".join(
        f"    s{number}: {{componentType: Worker}}\n" for number in range(3 * OFFERED)
    )
    found = actions("a", text, ASKED, 1, 10_000)
    assert [one.title for one in found][OFFERED:] == [f"Fix all {3 * OFFERED} in this file", "Convert this file to v1beta1"]
    assert found[OFFERED].text == text.replace("Worker", "worker")
    assert "apiVersion: nvidia.com/v1beta1" in found[-1].text


def test_what_only_a_person_can_decide_is_in_no_edit_for_all() -> None:
    text = TEXT.replace('replicas: "2"   # zwei', "replica: 2\n    replcas: 3").replace("Worker", "worker").replace("typ:", "type:")
    assert len([one for one in find_problems("a", text, ASKED).findings if one.edit is not None]) == 2
    titles = [one.title for one in actions("a", text, ASKED, 1, 99)]
    assert titles == ["Rename it to replicas (unknown-field)", "Rename it to replicas (unknown-field)"]


def test_an_interrupt_ends_the_server() -> None:
    words = [sys.executable, "-m", "dynamo_webhooks.cli.main", "lsp"]
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}).encode()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(asked), asked))
            process.stdin.flush()
            assert process.stdout.readline().startswith(b"Content-Length: ")  # it reads what comes next
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == INTERRUPTED
        finally:
            process.kill()


@pytest.mark.asyncio
@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\u0085"])
async def test_lines_end_where_the_protocol_ends_them(editor: Editor, end: str) -> None:
    """YAML 1.1 ends a line at each of these, too."""
    text = TEXT.replace("# 𝓤nsere\n", f"# 𝓤nsere{end}# beiden\r\n# Texte\r").replace("worker\n    type", f"worker  # 𝓤{end}    type")
    lines = re.split("\r\n|\r|\n", text)
    line = next(number for number, line in enumerate(lines) if "Worker" in line)
    column = len(lines[line][: lines[line].index("Worker")].encode("utf-16-le")) // 2
    found = {one.code: one.range for one in await editor.show(text)}
    assert found["schema-mismatch"] == types.Range(types.Position(line, column), types.Position(line, column + 6))
    column = lines[line + 2].index("typ:") + 1  # as above
    assert found["unknown-field"] == types.Range(types.Position(line + 2, column), types.Position(line + 2, column + 3))
    which = types.TextDocumentIdentifier(URI)
    hover = await editor.client.text_document_hover_async(types.HoverParams(which, types.Position(line + 1, 6)))
    assert hover is not None
    assert "`spec.components.*.replicas`" in hover.contents.value  # type: ignore[union-attr]  # Markdown was asked for
    place = types.Range(types.Position(line, 0), types.Position(line, 0))
    first, *_ = await editor.client.text_document_code_action_async(types.CodeActionParams(which, place, types.CodeActionContext([]))) or ()
    assert edited(first, text) == (text.replace("Worker", "worker"), ["w"])


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"{", "must be JSON"),
        (b"\xff\xfe", "must be JSON"),
        (b"[1]", "a message of the protocol"),
        (b'{"jsonrpc": "1.0", "method": "x"}', "a message of the protocol"),
        (b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 1}}', "a message of the protocol"),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "textDocument/hover", "params": []}', "a message of the protocol"),
        (b"[" * 100_000, "must be JSON"),
    ],
)
def test_a_message_that_is_none_is_one_plain_line(sent: bytes, said: str) -> None:
    def framed(body: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    start = framed(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}')
    end = framed(b'{"jsonrpc": "2.0", "id": 2, "method": "shutdown"}') + framed(b'{"jsonrpc": "2.0", "method": "exit"}')
    command = [sys.executable, "-c", "import sys; from dynamo_webhooks.cli.main import main; sys.exit(main())", "lsp"]
    ran = subprocess.run(command, input=start + framed(sent) + end, capture_output=True, timeout=60, check=False)
    assert ran.returncode == 0
    assert len(ran.stderr.splitlines()) == 1
    assert said in ran.stderr.decode()
    assert b'"id":2,"jsonrpc":"2.0","result":null' in ran.stdout.replace(b" ", b"")
