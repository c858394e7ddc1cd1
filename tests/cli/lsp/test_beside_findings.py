"""What the language server offers beside findings and fixes: comments that ignore, outlines, restarts, and what a text is judged by."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from dynamo_webhooks.cli.commands.lsp.answers import (
    CheckContext,
    DocumentSymbol,
    add_ignore_comment,
    find_named_rule,
    find_problems,
    find_symbols,
)
from dynamo_webhooks.cli.commands.lsp.restarts import find_lenses
from dynamo_webhooks.cli.commands.lsp.server import STATUS
from tests.cli.lsp.test_lsp import ASKED, PIECES, TEXT, URI, Editor, edited, editor, started
from tests.cli.repository import Repository

__all__ = ["editor"]  # a fixture

WHICH: Final = types.TextDocumentIdentifier(URI)
RULE: Final = "replicas-non-negative"
GRAPH: Final = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: chat
spec:
  components:
  - type: frontend
    name: ui
    replicas: 2
  - name: worker
    type: worker
    replicas: 3
    podTemplate:
      spec:
        containers:
        - {name: main, image: "example.com/vllm:1"}
"""
ODD: Final = GRAPH.replace("name: ui", "name: 𝓤i")  # a letter that takes two units of the protocol
ALPHA_GRAPH: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: old}
spec:
  services:
    Frontend: {componentType: frontend}
    worker:
      replicas: -1  # dynamo-webhooks: ignore[DYN006, replicas-non-negative] why
"""


async def actions(editor: Editor, diagnostics: Sequence[types.Diagnostic]) -> list[Any]:
    """The edits for diagnostics that the editor shows at one place."""
    request = types.CodeActionParams(WHICH, diagnostics[0].range, types.CodeActionContext(list(diagnostics)))
    return list(await editor.client.text_document_code_action_async(request) or ())


@pytest.mark.asyncio(loop_scope="module")
async def test_a_finding_can_be_ignored_once_its_reason_is_written(editor: Editor) -> None:
    text = GRAPH.replace("replicas: 2", "replicas: -2")
    shown = await editor.show(text)
    [finding] = [diagnostic for diagnostic in shown if diagnostic.code == RULE]
    foreign = types.Diagnostic(finding.range, "x", code="x", source="yaml")
    [action] = [offer for offer in await actions(editor, [finding, foreign]) if offer.title.startswith("Ignore")]
    assert (action.title, action.diagnostics) == (f"Ignore {RULE} here, with a reason", (finding,))
    written, edits = edited(action, text)
    assert edits == [f"    # dynamo-webhooks: ignore[{RULE}] \n"]
    by_code = {diagnostic.code: diagnostic for diagnostic in await editor.show(written)}
    assert "the comment ignores replicas-non-negative without a reason" in by_code["ignore-without-reason"].message
    hover = await editor.client.text_document_hover_async(types.HoverParams(WHICH, types.Position(8, 36)))
    assert hover is not None
    assert hover.contents.value.startswith(f"# {RULE}")  # type: ignore[union-attr]  # Markdown was asked for
    reason = written.replace(f"[{RULE}] ", f"[{RULE}] the scaler takes it for off")
    assert {diagnostic.code for diagnostic in await editor.show(reason)} & {RULE, "ignore-without-reason"} == set()


@pytest.mark.asyncio
async def test_an_editor_with_snippets_puts_the_cursor_where_the_reason_belongs() -> None:
    edit = types.WorkspaceEditClientCapabilities(document_changes=True, snippet_edit_support=True)
    able = types.ClientCapabilities(workspace=types.WorkspaceClientCapabilities(workspace_edit=edit))
    async with started("--line", "1.2", capabilities=able) as editor:
        [finding] = [item for item in await editor.show(GRAPH.replace("replicas: 2", "replicas: -2")) if item.code == RULE]
        [action] = [offer for offer in await actions(editor, [finding]) if offer.title.startswith("Ignore")]
        [change] = action.edit.document_changes
        assert (change.text_document.uri, change.text_document.version) == (URI, 1)
        assert [entry.snippet.value for entry in change.edits] == [f"    # dynamo-webhooks: ignore[{RULE}] $0\n"]


def test_no_comment_is_offered_where_none_can_stand() -> None:
    assert add_ignore_comment("a", '{"apiVersion": "nvidia.com/v1beta1"}', RULE, 1) is None
    assert add_ignore_comment("a", GRAPH, "no-such-rule", 9) is None
    assert add_ignore_comment("a", GRAPH, RULE, 99) is None
    inside = GRAPH.replace("name: chat", 'name: "cha\n    t"')
    assert add_ignore_comment("a", inside, RULE, 5) is None


def test_hover_explains_the_rule_that_a_comment_names() -> None:
    line = next(number for number, row in enumerate(ALPHA_GRAPH.splitlines(), 1) if "ignore[" in row)
    text = ALPHA_GRAPH.splitlines()[line - 1]
    for word, title in ((RULE, f"# {RULE}"), ("DYN006", "# ignore-without-reason")):
        first = text.index(word) + 1
        for column in (first, first + len(word)):
            assert find_named_rule("a", ALPHA_GRAPH, line, column).startswith(title)
    assert find_named_rule("a", ALPHA_GRAPH, line, text.index("why") + 1) == ""
    assert find_named_rule("a", ALPHA_GRAPH, line - 1, text.index(RULE) + 1) == ""
    assert find_named_rule("a", ALPHA_GRAPH.replace("# dynamo", "'# dynamo").replace("why", "why'"), line, text.index(RULE) + 2) == ""


def names(symbols: list[DocumentSymbol]) -> list[Any]:
    return [(symbol.name, symbol.detail, names(symbol.parts)) for symbol in symbols]


def test_the_outline_has_objects_and_their_components() -> None:
    both = f"{ODD}---\n{ALPHA_GRAPH}---\nkind: ConfigMap\napiVersion: v1\nmetadata: {{name: c}}\n"
    kind = "DynamoGraphDeployment"
    symbols = find_symbols("a", both)
    assert names(symbols) == [
        ("chat", kind, [("𝓤i", "frontend", []), ("worker", "worker", [])]),
        ("old", kind, [("Frontend", "frontend", []), ("worker", "", [])]),
    ]
    lines = both.splitlines()
    assert [lines[part.position.line - 1][part.position.column - 1 :] for part in symbols[0].parts] == ["𝓤i", "worker"]
    assert lines[symbols[1].parts[1].position.line - 1].strip() == "worker:"
    assert find_symbols("a", GRAPH.replace("nvidia.com", "example.com").replace("DynamoGraph", "Graph")) == []


@pytest.mark.asyncio(loop_scope="module")
async def test_an_editor_has_the_outline_in_its_own_units(editor: Editor) -> None:
    await editor.show(ODD)
    [graph] = await editor.client.text_document_document_symbol_async(types.DocumentSymbolParams(WHICH)) or ()
    assert isinstance(graph, types.DocumentSymbol)
    first, second = graph.children or ()
    assert first.selection_range == types.Range(types.Position(7, 10), types.Position(7, 13))
    assert (first.range.start, second.range.start) == (types.Position(6, 4), types.Position(9, 4))
    assert first.range.end.line <= second.range.start.line


@given(st.lists(PIECES, max_size=12).map("".join))
def test_every_outline_can_be_drawn(text: str) -> None:
    for symbol in find_symbols("a", f"apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\n{text}"):
        assert symbol.extent[:2] <= symbol.extent[2:]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose branch main has the graph; its configuration names programs that would leave a trace."""
    git = Repository(tmp_path)
    (tmp_path / "chat.yaml").write_text(GRAPH)
    git.commit()
    trap = tmp_path / ".git" / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/trapped'\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external"):
        git("config", key, str(trap))
    (tmp_path / "trapped").unlink(missing_ok=True)  # `git config` itself runs none, but the order of versions is not ours
    return tmp_path


def against(revision: str) -> CheckContext:
    return ASKED._replace(against=revision)


def test_a_lens_counts_the_pods_that_a_change_restarts(repository: Path) -> None:
    file = str(repository / "chat.yaml")
    changed = GRAPH.replace("vllm:1", "vllm:2")
    [lens] = find_lenses(file, changed, against("main"))
    assert (lens.title, lens.position.line) == ("restarts 3 pods against main", 1)
    assert any("vllm:1" in reason for reason in lens.reasons)
    assert find_lenses(file, GRAPH.replace("replicas: 3", "replicas: 4"), against("main")) == []  # scales
    assert find_lenses(file, GRAPH, against("main")) == []
    assert not (repository / "trapped").exists()


def test_without_git_a_revision_or_a_file_in_it_there_is_no_lens(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    changed = GRAPH.replace("vllm:1", "vllm:2")
    outside = tmp_path_factory.mktemp("outside") / "chat.yaml"
    for file, revision in (
        (repository / "chat.yaml", "nowhere"),
        (repository / "chat.yaml", ""),
        (repository / "other.yaml", "main"),
        (outside, "main"),
        (Path("untitled:1"), "main"),
        (Path("a\0b"), "main"),
    ):
        assert find_lenses(str(file), changed, against(revision)) == []
    broken = GRAPH.replace("worker\n    replicas", "worker\n    replicas: x\n    y")
    assert find_lenses(str(repository / "chat.yaml"), broken, against("main")) == []


@pytest.mark.asyncio
async def test_an_editor_shows_the_lens_and_what_a_text_is_judged_by(repository: Path) -> None:
    uri = (repository / "chat.yaml").as_uri()
    async with started("--line", "1.5", "--set-fact", "grove=false", uri=uri) as editor:
        await editor.show(GRAPH.replace("vllm:1", "vllm:2"))
        which = types.TextDocumentIdentifier(uri)
        [lens] = await editor.client.text_document_code_lens_async(types.CodeLensParams(which)) or ()
        assert lens.command is not None
        assert (lens.command.title, lens.command.command) == ("restarts 3 pods against main", "")
        status = await editor.client.protocol.send_request_async(STATUS, {"uri": uri})
        assert (status.line, status.facts) == ("1.5", ["grove"])


@pytest.mark.asyncio
async def test_schema_findings_can_be_left_to_another_server() -> None:
    async with started("--line", "1.2", options={"diagnostics": {"schema": "off"}}) as editor:
        assert {diagnostic.code for diagnostic in await editor.show(TEXT)} == set()
        assert {diagnostic.code for diagnostic in await editor.show(GRAPH.replace("replicas: 2", "replicas: -2\n    typo: 1"))} == {RULE}
    assert {finding.rule for finding in find_problems("a", TEXT, ASKED).findings} == {"schema-mismatch", "wrong-type", "unknown-field"}
