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

from dynamo_webhooks.api.line import DEFAULT_LINE, Line
from dynamo_webhooks.cli.commands.check.selection import RuleSelection
from dynamo_webhooks.cli.commands.lsp.answers import (
    MAX_OFFERED_EDITS,
    CheckContext,
    TextFindings,
    describe_at,
    find_problems,
    list_code_actions,
    list_completions,
)
from dynamo_webhooks.cli.console.exits import INTERRUPTED
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.cli.validation.pipeline import ValidationSettings
from dynamo_webhooks.policies.facts import Facts
from tests.cli.userrules.samples import policy

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
ASKED = CheckContext(lambda: ValidationSettings(Facts(operatorLine=Line.V1_2)), RuleSelection())
NEWEST_ASKED = ASKED._replace(settings=lambda: ValidationSettings(Facts(operatorLine=DEFAULT_LINE)))


class Editor:
    """A client with one open text."""

    able: types.ServerCapabilities  # what the server says that it can do

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
        published = await self.told.get()
        assert (published.uri, published.version) == (self.uri, self.version)
        return list(published.diagnostics)


@asynccontextmanager
async def started(*flags: str, uri: str = URI, options: Any = None, capabilities: Any = None) -> AsyncIterator[Editor]:
    """A client of a server that was started with flags, until the end."""
    client = LanguageClient("test", "1")
    command = "import sys; from dynamo_webhooks.cli.main import main; sys.exit(main())"
    await client.start_io(sys.executable, "-c", command, "lsp", "--stdio", *flags)
    made = Editor(client, uri)
    wanted = types.InitializeParams(capabilities or types.ClientCapabilities(), initialization_options=options)
    made.able = (await client.initialize_async(wanted)).capabilities
    client.initialized(types.InitializedParams())
    yield made
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]  # pygls leaves it out


@pytest_asyncio.fixture(scope="module", loop_scope="module")
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
    for change in reversed(edits):
        text = text[: offset(change.range.start)] + change.new_text + text[offset(change.range.end) :]
    return text, [edit.new_text for edit in edits]


def check_replicas(hover: types.Hover | None) -> None:
    """Holds what is told of the field of a count to its order: type, value, defaults, at most five rules."""
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    text = hover.contents.value
    assert "`spec.components.*.replicas`" in text
    parts = [
        text.index(part) for part in ("Type integer.", "At least `0`", "Defaults that may fill it in", "Rules that check", "more rules")
    ]
    assert parts == sorted(parts)
    assert text.partition("Rules that check")[2].count("\n- ") == 5


@pytest.mark.asyncio(loop_scope="module")
async def test_an_editor_is_told_what_is_wrong_and_can_have_it_fixed(editor: Editor) -> None:
    diagnostics = await editor.show(TEXT)
    places = {(mark.code, mark.range.start.line, mark.range.start.character, mark.range.end.character) for mark in diagnostics}
    at = TEXT.splitlines()[9].index("typ:") + 1  # the letter before it takes two units of the protocol
    assert places == {
        ("schema-mismatch", 7, 10, 16),
        ("wrong-type", 8, 14, 17),
        ("unknown-field", 9, at, at + 3),
    }
    assert {mark.code: mark.severity for mark in diagnostics}["unknown-field"] == types.DiagnosticSeverity.Error
    whole = types.Range(types.Position(7, 0), types.Position(7, 5))
    which = types.TextDocumentIdentifier(URI)
    request = types.CodeActionParams(which, whole, types.CodeActionContext([]))
    first, everything = await editor.client.text_document_code_action_async(request) or ()
    assert edited(first, TEXT) == (TEXT.replace("Worker", "worker"), ["w"])
    fixed = TEXT.replace("Worker", "worker").replace('"2"', "2").replace("typ:", "type:")
    assert edited(everything, TEXT) == (fixed, ["w", "2", "e"])
    assert await editor.show(fixed) == []
    hover = await editor.client.text_document_hover_async(types.HoverParams(which, types.Position(8, 6)))
    check_replicas(hover)
    assert await editor.client.text_document_hover_async(types.HoverParams(which, types.Position(11, 2))) is None
    await editor.show(fixed.replace("# zwei\n", "# zwei\n    sc\n"))
    asked_for = types.CompletionParams(which, types.Position(9, 6))
    offered = await editor.client.text_document_completion_async(asked_for)
    assert isinstance(offered, list)
    names = {item.label: item.insert_text for item in offered}
    assert names["scalingAdapter"] == "scalingAdapter: "
    assert "type" not in names  # which is there already
    assert "unreadable" in {mark.code for mark in await editor.show(TEXT + "---\na: [\n")}


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("  components:\n  - name: a\n    type: ", "decode"),
        ("  components:\n  - ", "name"),
        ("  ", "components"),
        ("  components:\n  - name: a\n    experimental:\n      gpuMemoryService:\n        mode: ", "InterPod"),
        ("  components:\n  - {name: a, ", "type"),
        ("  components:\n  - {name: 'a}', type: ", "decode"),
        ("  components: [{name: a, experimental: {", "gpuMemoryService"),
        ("  components:\n  - {name: a,\n     ty", "type"),
    ],
)
def test_what_can_stand_at_a_place_is_offered(typed: str, wanted: str) -> None:
    text = f"apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {{name: g}}\nspec:\n{typed}"
    lines = text.split("\n")
    assert wanted in {item.text for item in list_completions("a", text, ASKED, len(lines), len(lines[-1]) + 1)}
    assert list_completions("a", text.replace("nvidia.com", "example.com"), ASKED, len(lines), len(lines[-1]) + 1) == []


@pytest.mark.parametrize(
    ("typed", "wanted", "there"),
    [
        ("- {name: a, ‸}", "type", "name"),
        ("- {name: a, ty‸: decode, replicas: 1}", "type", "replicas"),
        ("- {name: a, type: dec‸ode, replicas: 1}", "decode", "replicas"),
        ("- {name: [‸], replicas: 1}", "", "type"),
        ("- {name: a} # {‸", "", "type"),
    ],
)
def test_in_braces_the_rest_of_the_line_stays(typed: str, wanted: str, there: str) -> None:
    head = "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {name: g}\nspec:\n  components:\n  "
    offered = {item.text for item in list_completions("a", head + typed.replace("‸", ""), ASKED, 6, 3 + typed.index("‸"))}
    assert (wanted in offered or not wanted, there in offered) == (True, False), offered


@pytest.mark.asyncio(loop_scope="module")
async def test_a_policy_is_marked_and_judged_again_when_a_file_is_saved(editor: Editor) -> None:
    for expression, severity, start in (
        ("object.spec.component.size() > 1", types.DiagnosticSeverity.Warning, 27),
        ("1 + 'a' == 2", types.DiagnosticSeverity.Error, 18),
    ):
        (diagnostic,) = await editor.show(policy(expression))
        assert (diagnostic.code, diagnostic.severity, diagnostic.range.start) == ("policy", severity, types.Position(17, start))
        editor.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(editor.uri)))
        assert [mark.message for mark in (await editor.told.get()).diagnostics] == [diagnostic.message]


def test_an_empty_text_is_offered_objects_that_have_no_mistake() -> None:
    for text in ("", "# Licence\n\n", "---\nDyn"):
        skeletons = {item.text: re.sub(r"\$\{\d+:(.*?)\}", r"\1", item.insert) for item in list_completions("a", text, ASKED, 1, 1)}
        assert [*skeletons] == ["DynamoGraphDeployment", "DynamoGraphDeploymentRequest"]
    for kind, skeleton in skeletons.items():
        assert (f"kind: {kind}\n" in skeleton, find_problems("a", skeleton, NEWEST_ASKED)) == (True, TextFindings([], [], []))
    assert list_completions("a", "a: b\n", ASKED, 2, 1) == []


@pytest.mark.asyncio
async def test_an_editor_that_saves_asks_for_all_fixes_and_one_with_snippets_for_objects() -> None:
    snippets = types.ClientCompletionItemOptions(snippet_support=True)
    completion = types.CompletionClientCapabilities(completion_item=snippets)
    able = types.ClientCapabilities(text_document=types.TextDocumentClientCapabilities(completion=completion))
    which, whole = types.TextDocumentIdentifier(URI), types.Range(types.Position(0, 0), types.Position(0, 0))
    async with started("--line", "1.2", capabilities=able) as editor:
        shown = await editor.show(TEXT)
        for only, wanted in (
            ("source.fixAll", ["source.fixAll.dynamo-webhooks"]),
            ("source.organizeImports", []),
            ("quickfix", ["quickfix"] * 2),
        ):
            place = whole if only != "quickfix" else next(mark.range for mark in shown if mark.code == "wrong-type")
            context = types.CodeActionContext(shown, [only])
            actions = await editor.client.text_document_code_action_async(types.CodeActionParams(which, place, context)) or ()
            fixes = [action for action in actions if isinstance(action, types.CodeAction) and not action.title.startswith("Ignore")]
            assert [fix.kind for fix in fixes] == wanted
            if only == "source.fixAll":
                assert edited(fixes[0], TEXT)[1] == ["w", "2", "e"]
        assert [(fix.is_preferred, [each.code for each in fix.diagnostics or ()]) for fix in fixes] == [(True, ["wrong-type"]), (False, [])]
        await editor.show("")
        offered = await editor.client.text_document_completion_async(types.CompletionParams(which, types.Position(0, 0)))
        assert isinstance(offered, list)
        formats = {(item.insert_text_format, "${1:my-" in (item.insert_text or "")) for item in offered}
        assert formats == {(types.InsertTextFormat.Snippet, True)}


@pytest.mark.asyncio(loop_scope="module")
async def test_an_editor_is_told_after_which_characters_to_ask(editor: Editor) -> None:
    able = editor.able
    assert able.completion_provider is not None
    assert able.completion_provider.trigger_characters == (" ", "\n", "{", "[", ",", ".", "(")
    assert able.code_action_provider == types.CodeActionOptions(("quickfix", "source.fixAll.dynamo-webhooks"))


@pytest.mark.parametrize("line", Line)
def test_what_is_offered_is_of_the_line(line: Line) -> None:
    text = "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {name: g}\nspec:\n  components:\n  - "
    context = ASKED._replace(settings=lambda: ValidationSettings(Facts(operatorLine=line)))
    names = {item.text for item in list_completions("a", text, context, 6, 5)}
    assert ("minAvailable" in names, "replicas" in names) == (line >= "1.3", True)


def test_the_server_follows_the_project_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: list[CheckContext]) -> None:
    (tmp_path / ".dynamo-webhooks.yaml").write_text("line: '1.5'\n")
    monkeypatch.chdir(tmp_path)
    assert [main(["lsp"]), main(["lsp", "--line", "1.2"]), main(["lsp", "--no-project"])] == [0, 0, 0]
    assert [context.settings().line for context in served] == ["1.5", "1.2", DEFAULT_LINE]


PIECES = st.sampled_from([*TEXT.splitlines(keepends=True), "  - ", "spec:", "\t", "- [", "{", "}", "\u2028", "&a *a", "𝓤", "x: y"])


@given(st.lists(PIECES, max_size=12).map("".join), st.integers(-1, 14), st.integers(-1, 30))
def test_no_text_and_no_place_raises(text: str, line: int, column: int) -> None:
    text = f"apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\n{text}"
    find_problems("a", text, ASKED)
    assert isinstance(describe_at("a", text, ASKED, line, column), str)
    assert isinstance(list_completions("a", text, ASKED, line, column), list)
    assert all(action.text != text for action in list_code_actions("a", text, ASKED, line, line + 2))


def test_a_whole_file_is_offered_some_single_edits_and_one_for_all() -> None:
    text = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: g}\nspec:\n  services:\n" + "".join(
        f"    s{number}: {{componentType: Worker}}\n" for number in range(3 * MAX_OFFERED_EDITS)
    )
    actions = list_code_actions("a", text, ASKED, 1, 10_000)
    assert [action.title for action in actions][MAX_OFFERED_EDITS:] == [
        f"Fix all {3 * MAX_OFFERED_EDITS} in this file",
        "Convert this file to v1beta1",
    ]
    assert actions[MAX_OFFERED_EDITS].text == text.replace("Worker", "worker")
    assert "apiVersion: nvidia.com/v1beta1" in actions[-1].text


def test_what_only_a_person_can_decide_is_in_no_edit_for_all() -> None:
    text = TEXT.replace('replicas: "2"   # zwei', "replica: 2\n    replcas: 3").replace("Worker", "worker").replace("typ:", "type:")
    assert len([finding for finding in find_problems("a", text, ASKED).findings if finding.edit is not None]) == 2
    titles = [action.title for action in list_code_actions("a", text, ASKED, 1, 99)]
    assert titles == ["Rename it to replicas (unknown-field)", "Rename it to replicas (unknown-field)"]


def test_an_interrupt_ends_the_server() -> None:
    words = [sys.executable, "-m", "dynamo_webhooks.cli.main", "lsp"]
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}).encode()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(request), request))
            process.stdin.flush()
            assert process.stdout.readline().startswith(b"Content-Length: ")  # it reads what comes next
            process.send_signal(signal.SIGINT)
            assert process.wait() == INTERRUPTED
        finally:
            process.kill()


@pytest.mark.asyncio(loop_scope="module")
async def test_lines_end_where_the_protocol_ends_them(editor: Editor, subtests: pytest.Subtests) -> None:
    """YAML 1.1 ends a line at each of these, too."""
    for end in ("\u2028", "\u2029", "\u0085"):
        with subtests.test(end=end):
            await _ends_at(editor, end)


async def _ends_at(editor: Editor, end: str) -> None:
    text = TEXT.replace("# 𝓤nsere\n", f"# 𝓤nsere{end}# beiden\r\n# Texte\r").replace("worker\n    type", f"worker  # 𝓤{end}    type")
    lines = re.split("\r\n|\r|\n", text)
    line = next(number for number, line in enumerate(lines) if "Worker" in line)
    column = len(lines[line][: lines[line].index("Worker")].encode("utf-16-le")) // 2
    ranges = {mark.code: mark.range for mark in await editor.show(text)}
    assert ranges["schema-mismatch"] == types.Range(types.Position(line, column), types.Position(line, column + 6))
    column = lines[line + 2].index("typ:") + 1  # as above
    assert ranges["unknown-field"] == types.Range(types.Position(line + 2, column), types.Position(line + 2, column + 3))
    which = types.TextDocumentIdentifier(URI)
    hover = await editor.client.text_document_hover_async(types.HoverParams(which, types.Position(line + 1, 6)))
    check_replicas(hover)
    place = types.Range(types.Position(line, 0), types.Position(line, 0))
    first, *_ = await editor.client.text_document_code_action_async(types.CodeActionParams(which, place, types.CodeActionContext([]))) or ()
    assert edited(first, text) == (text.replace("Worker", "worker"), ["w"])


# what is no message -> what is said of it
NONE = {
    b"{": "must be JSON",
    b"\xff\xfe": "must be JSON",
    b"[1]": "a message of the protocol",
    b'{"jsonrpc": "1.0", "method": "x"}': "a message of the protocol",
    b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 1}}': "a message of the protocol",
    b'{"jsonrpc": "2.0", "id": 5, "method": "textDocument/hover", "params": []}': "a message of the protocol",
    b"[" * 100_000: "must be JSON",
}


def test_a_message_that_is_none_is_one_plain_line() -> None:
    start = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}'
    end = (b'{"jsonrpc": "2.0", "id": 2, "method": "shutdown"}', b'{"jsonrpc": "2.0", "method": "exit"}')
    sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in (start, *NONE, *end))
    command = [sys.executable, "-c", "import sys; from dynamo_webhooks.cli.main import main; sys.exit(main())", "lsp"]
    ran = subprocess.run(command, input=sent, capture_output=True, check=False)
    assert ran.returncode == 0
    lines = ran.stderr.decode().splitlines()
    assert [reason for reason, line in zip(NONE.values(), lines, strict=True) if reason not in line] == []
    assert b'"id":2,"jsonrpc":"2.0","result":null' in ran.stdout.replace(b" ", b"")
