"""The language server's edge: pygls and the protocol's types. Texts are judged on every change, in the order in which changes come.

Editors send whole texts: pygls would apply a part of one to lines that end in places where the protocol's don't.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcMethodNotFound
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from ....api.wording import rule_address, shorten
from ....policies.checks import SCHEMA_RULE, UNKNOWN_FIELD, WRONG_TYPE
from ....policies.facts import UNKNOWN
from ...console.output import write_stderr
from ...console.program import installed_version
from ...rewrite.unified_diff import find_changes
from ...validation.finding import LocatedFinding
from ...validation.levels import WARNING
from ...yaml.load import Source
from ...yaml.positions import Extent
from .answers import (
    MAX_OFFERED_EDITS,
    CheckContext,
    CodeAction,
    Completion,
    DocumentSymbol,
    add_ignore_comment,
    describe_at,
    find_named_rule,
    find_problems,
    find_symbols,
    fix_all,
    list_code_actions,
    list_completions,
)
from .restarts import find_lenses

STATUS: Final = "dynamo-webhooks/status"  # our own request: what a text is judged by
_SCHEMA: Final = frozenset(rule.name for rule in (WRONG_TYPE, UNKNOWN_FIELD, SCHEMA_RULE))  # what editors find by a schema, too
_NAME: Final = "dynamo-webhooks"  # of the server, and of the source of its diagnostics
_FIX_ALL: Final = f"{types.CodeActionKind.SourceFixAll.value}.{_NAME}"
_MAX_COLUMN: Final = 2**31 - 1  # a column behind every line
_LINE_END: Final = re.compile("\r\n|[\n\r]")  # of the protocol; YAML 1.1 has more


class EditorText:
    """A text of the editor: translates between its lines and columns, in the protocol's units, and ours: YAML's lines, and characters."""

    def __init__(self, document: TextDocument) -> None:
        self.version = document.version
        self.source = Source(unquote(urlsplit(document.uri).path) or document.uri, document.source)
        self._codec = document.position_codec
        self._counted = (-1, 0)  # the last offset that was asked for, and its units from its line's beginning

    @cached_property
    def _starts(self) -> list[int]:
        """Offsets at which the protocol's lines begin."""
        return [0, *(end.end() for end in _LINE_END.finditer(self.source.text))]

    def edits(self, text: str) -> list[types.TextEdit]:
        """Edits that turn this text into another: only what differs, so that the cursor and folds stay."""
        changes = find_changes(self.source.text, text)
        return [types.TextEdit(types.Range(self._position(change.start), self._position(change.end)), change.text) for change in changes]

    def range(self, line: int, column: int, end: int) -> types.Range:
        """A span on one of our lines, at least one character wide."""
        span = self.span(Extent(line, column, line, end))
        first, last = span.start, span.end
        return types.Range(first, last if last != first else types.Position(first.line, first.character + 1))

    def span(self, extent: Extent) -> types.Range:
        """A stretch of lines."""
        line, column, end_line, end_column = extent
        start = self._offset(self.source.starts, line - 1, column - 1)
        end = max(self._offset(self.source.starts, end_line - 1, end_column - 1), start)
        return types.Range(self._position(start), self._position(end))

    def line_and_column(self, position: types.Position) -> tuple[int, int]:
        """A position as line and column from 1."""
        at = self._offset(self._starts, position.line, 0)
        behind = _LINE_END.search(self.source.text, at)
        text = self.source.text[at : behind.start() if behind else None]
        at += self._characters(text, position.character)
        starts = self.source.starts
        line = bisect_right(starts, at) - 1
        return line + 1, at - starts[line] + 1

    def _offset(self, starts: list[int], line: int, column: int) -> int:
        return min(starts[line] + column, len(self.source.text)) if line < len(starts) else len(self.source.text)

    def _position(self, offset: int) -> types.Position:
        line = bisect_right(self._starts, offset) - 1
        begin, units = self._starts[line], 0
        if begin <= self._counted[0] <= offset:  # findings come in order, and a line may be long
            begin, units = self._counted
        units += self._units(self.source.text[begin:offset])
        self._counted = (offset, units)
        return types.Position(line, units)

    def _units(self, text: str) -> int:
        return len(text) if text.isascii() else self._codec.client_num_units(text)

    def _characters(self, text: str, units: int) -> int:
        if text.isascii() or units >= self._units(text):
            return min(units, len(text))
        return int(self._codec.position_from_client_units([text], types.Position(0, units)).character)


class DynamoLanguageServer(LanguageServer):
    """The language server: it reports in one line what goes wrong, and goes on."""

    hidden: frozenset[str] = frozenset()  # rules whose findings the editor shows already
    snippets = False  # whether the editor fills in completions

    def read(self, uri: str) -> EditorText:
        """An open text; pygls would read another one from the disk."""
        return EditorText(self.workspace.text_documents.get(unquote(uri)) or TextDocument(uri, ""))

    def report_server_error(self, error: Exception, source: object) -> None:
        """Report a malformed message or an internal error; pygls has answered the request."""
        if isinstance(error, JsonRpcMethodNotFound):
            return
        if source is JsonRpcException:  # pygls: while a message was read
            broken = "JSON" if isinstance(error, (ValueError, RecursionError)) else "a message of the protocol"
            write_stderr(f"a message from the editor is ignored: it must be {broken}")
        else:
            write_stderr(f"internal error: {type(error.__cause__ or error).__name__}; start the server with -v for a traceback")


def make_server(context: CheckContext) -> DynamoLanguageServer:
    """A server that judges texts as asked; `start_io` runs it."""
    server = DynamoLanguageServer(_NAME, installed_version(), text_document_sync_kind=types.TextDocumentSyncKind.Full)

    read = server.read

    @server.feature(types.INITIALIZE)
    def begin(params: types.InitializeParams) -> None:
        server.hidden = _hidden(params.initialization_options)
        completion = params.capabilities.text_document.completion if params.capabilities.text_document else None
        server.snippets = bool(completion and completion.completion_item and completion.completion_item.snippet_support)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams) -> None:
        _publish(server, context, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(_: types.DidSaveTextDocumentParams) -> None:
        context.reload()
        for document in [*server.workspace.text_documents.values()]:
            _publish(server, context, document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=[]))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        text = read(params.text_document.uri)
        which, place = (text.source.name, text.source.text), text.line_and_column(params.position)
        page = find_named_rule(*which, *place) or describe_at(*which, context, *place)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, page)) if page else None

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[" ", "\n", "{", "[", ",", ".", "("]))
    def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        text = read(params.text_document.uri)
        completions = list_completions(text.source.name, text.source.text, context, *text.line_and_column(params.position))
        return [_item(offer, snippets=server.snippets) for offer in completions]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix, _FIX_ALL]))
    def act(params: types.CodeActionParams) -> list[types.CodeAction]:
        return _actions(server, read(params.text_document.uri), context, params)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        text = read(params.text_document.uri)
        return [_symbol(text, symbol, types.SymbolKind.Object) for symbol in find_symbols(text.source.name, text.source.text)]

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    @server.thread()  # Git may be slow
    def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        text = read(params.text_document.uri)
        restarts = find_lenses(text.source.name, text.source.text, context)
        return [types.CodeLens(text.range(*lens.position), types.Command(lens.title, "", "\n".join(lens.reasons))) for lens in restarts]

    @server.feature(STATUS)
    def status(_params: Any) -> dict[str, Any]:
        settings = context.settings()
        known = [name for name, value in settings.facts._asdict().items() if value is not UNKNOWN and name != "operatorLine"]
        return {"version": installed_version(), "line": str(settings.line), "facts": known}

    return server


def _publish(server: DynamoLanguageServer, context: CheckContext, uri: str) -> None:
    text = server.read(uri)
    diagnostics = _diagnostics(text, context, server.hidden)
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics, version=text.version))


def _hidden(options: Any) -> frozenset[str]:
    """The rules that an editor's options hide: `diagnostics.schema`, on or off."""
    wanted = options.get("diagnostics") if isinstance(options, dict) else None
    schema = wanted.get("schema", "on") if isinstance(wanted, dict) else "on"
    if schema not in ("on", "off"):
        write_stderr(f"diagnostics.schema must be on or off, got {shorten(str(schema), 80)}; it is on")
    return _SCHEMA if schema == "off" else frozenset()


def _item(offer: Completion, *, snippets: bool) -> types.CompletionItem:
    filled = offer.kind == "Snippet" and snippets
    return types.CompletionItem(
        label=offer.text,
        insert_text=offer.insert if filled or offer.kind != "Snippet" else re.sub(r"\$\{\d+:(.*?)\}", r"\1", offer.insert),
        insert_text_format=types.InsertTextFormat.Snippet if filled else types.InsertTextFormat.PlainText,
        kind=types.CompletionItemKind[offer.kind],
        detail=offer.type,
        documentation=offer.description,
    )


def _actions(
    server: DynamoLanguageServer, text: EditorText, context: CheckContext, params: types.CodeActionParams
) -> list[types.CodeAction]:
    uri, diagnostics, only = params.text_document.uri, params.context.diagnostics, params.context.only
    code_actions = []
    if only is None or _covers(only, types.CodeActionKind.QuickFix.value):
        first, _ = text.line_and_column(types.Position(params.range.start.line, 0))
        last, _ = text.line_and_column(types.Position(params.range.end.line, _MAX_COLUMN))
        workspace = server.client_capabilities.workspace
        edits = workspace.workspace_edit if workspace else None
        snippets = bool(edits and edits.document_changes and edits.snippet_edit_support)
        code_actions += [
            _fix(uri, text, action, diagnostics) for action in list_code_actions(text.source.name, text.source.text, context, first, last)
        ]
        code_actions += _ignores(uri, text, diagnostics, snippets=snippets)
    # only for editors that ask for it, such as when they save a file
    if only and _covers(only, _FIX_ALL) and (whole := fix_all(text.source.name, text.source.text, context)):
        code_actions.append(types.CodeAction(whole.title, _FIX_ALL, edit=types.WorkspaceEdit(changes={uri: text.edits(whole.text)})))
    return code_actions


def _covers(kinds: Sequence[types.CodeActionKind | str], kind: str) -> bool:
    """Whether one of the kinds is this one, or one above it."""
    prefixes = [listed.value if isinstance(listed, types.CodeActionKind) else listed for listed in kinds]
    return any(f"{kind}.".startswith(f"{prefix}." if prefix else "") for prefix in prefixes)


def _fix(uri: str, text: EditorText, action: CodeAction, diagnostics: Sequence[types.Diagnostic]) -> types.CodeAction:
    """A quick fix with the diagnostics of its finding; preferred if it fixes a single finding."""
    mended = [each for each in diagnostics if action.finding and each.code == action.finding.rule and _begins(text, each, action.finding)]
    edit = types.WorkspaceEdit(changes={uri: text.edits(action.text)})
    return types.CodeAction(action.title, types.CodeActionKind.QuickFix, mended or None, bool(action.finding), edit=edit)


def _begins(text: EditorText, diagnostics: types.Diagnostic, finding: LocatedFinding) -> bool:
    return text.line_and_column(diagnostics.range.start) == (finding.position.line, finding.position.column)


def _ignores(uri: str, text: EditorText, diagnostics: Sequence[types.Diagnostic], *, snippets: bool) -> list[types.CodeAction]:
    """An edit for each of our findings that the editor shows where it asks; the cursor goes where the reason is to be written."""
    code_actions = []
    for diagnostic in [diagnostic for diagnostic in diagnostics if diagnostic.source == _NAME][:MAX_OFFERED_EDITS]:
        line, _ = text.line_and_column(diagnostic.range.start)
        written = add_ignore_comment(text.source.name, text.source.text, str(diagnostic.code), line)
        if written is None:
            continue
        edits: list[types.TextEdit] = text.edits(written.text)
        edit = types.WorkspaceEdit(changes={uri: edits})
        if snippets:
            which = types.OptionalVersionedTextDocumentIdentifier(uri, text.version)
            edit = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(which, [_snippet(each) for each in edits])])
        code_actions.append(types.CodeAction(written.title, types.CodeActionKind.QuickFix, [diagnostic], edit=edit))
    return code_actions


def _snippet(edit: types.TextEdit) -> types.SnippetTextEdit:
    """Turn an edit into a snippet with the cursor at the end of the line that it writes."""
    text = re.sub(r"[\\$}]", r"\\\g<0>", edit.new_text)
    line = text.rstrip("\r\n")
    return types.SnippetTextEdit(edit.range, types.StringValue(f"{line}$0{text[len(line) :]}"))


def _symbol(text: EditorText, symbol: DocumentSymbol, kind: types.SymbolKind) -> types.DocumentSymbol:
    whole, name = text.span(symbol.extent), text.range(*symbol.position)
    start, end = ((place.line, place.character) for place in (whole.start, whole.end))
    if not start <= (name.start.line, name.start.character) <= (name.end.line, name.end.character) <= end:
        name = types.Range(whole.start, whole.start)  # the protocol wants it inside; an alias is written elsewhere
    parts = [_symbol(text, part, types.SymbolKind.Field) for part in symbol.parts]
    return types.DocumentSymbol(symbol.name, kind, whole, name, symbol.detail, children=parts)


def _diagnostics(text: EditorText, context: CheckContext, hidden: frozenset[str]) -> list[types.Diagnostic]:
    seen = find_problems(text.source.name, text.source.text, context)
    out = []
    for finding in seen.findings:
        if finding.rule in hidden:
            continue
        line, column, end = finding.position
        level = types.DiagnosticSeverity.Warning if finding.level == WARNING else types.DiagnosticSeverity.Error
        fix = f"\nfix: {finding.fix}" if finding.fix else ""
        page = rule_address(context.site, finding.rule)
        out.append(
            types.Diagnostic(
                text.range(line, column, end),
                f"{finding.about}{fix}",
                level,
                code=finding.rule,
                code_description=types.CodeDescription(page) if page else None,
                source=_NAME,
            )
        )
    for mark in seen.marks:
        level = types.DiagnosticSeverity.Error if mark.is_error else types.DiagnosticSeverity.Warning
        where = text.range(mark.line, mark.column, mark.column + 1)
        out.append(types.Diagnostic(where, mark.text, level, code="policy", source=_NAME))
    for error in seen.unreadable:
        where = text.range(max(error.line, 1), max(error.column, 1), max(error.column, 1) + 1)
        out.append(types.Diagnostic(where, error.text, types.DiagnosticSeverity.Error, code="unreadable", source=_NAME))
    return out
