"""The language server's edge: pygls and the protocol's types. Texts are judged on every change, in the order in which changes come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from dynamo_webhooks.cli.check.record import WARNING
from dynamo_webhooks.cli.commands.version import installed
from dynamo_webhooks.cli.lsp.answers import Asked, actions, meaning, offers, seen

if TYPE_CHECKING:
    from pygls.workspace import TextDocument

NAME: Final = "dynamo-webhooks"
_SOURCE: Final = "dynamo-webhooks"


def server(asked: Asked) -> LanguageServer:
    """A server that judges texts as asked; `start_io` runs it."""
    made = LanguageServer(NAME, installed())

    def publish(uri: str) -> None:
        document = made.workspace.get_text_document(uri)
        found = _diagnostics(document, asked)
        made.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=document.version))

    @made.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        made.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=[]))

    @made.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        document = made.workspace.get_text_document(params.text_document.uri)
        text = meaning(_name(document), document.source, *_place(document, params.position))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None

    @made.feature(types.TEXT_DOCUMENT_COMPLETION)
    def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        document = made.workspace.get_text_document(params.text_document.uri)
        found = offers(_name(document), document.source, asked, *_place(document, params.position))
        return [
            types.CompletionItem(
                label=one.text,
                insert_text=one.text if one.is_value else f"{one.text}: ",
                kind=types.CompletionItemKind.EnumMember if one.is_value else types.CompletionItemKind.Field,
                detail=one.type,
                documentation=one.description,
            )
            for one in found
        ]

    @made.feature(types.TEXT_DOCUMENT_CODE_ACTION)
    def act(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = made.workspace.get_text_document(params.text_document.uri)
        first, last = params.range.start.line + 1, params.range.end.line + 1
        return [
            types.CodeAction(
                title=one.title,
                kind=types.CodeActionKind.QuickFix,
                edit=types.WorkspaceEdit(changes={document.uri: [types.TextEdit(_all(document), one.text)]}),
            )
            for one in actions(_name(document), document.source, asked, first, last)
        ]

    return made


def _diagnostics(document: TextDocument, asked: Asked) -> list[types.Diagnostic]:
    told = seen(_name(document), document.source, asked)
    out = []
    for one in told.findings:
        line, column, end = one.position
        level = types.DiagnosticSeverity.Warning if one.level == WARNING else types.DiagnosticSeverity.Error
        fix = f"\nfix: {one.fix}" if one.fix else ""
        out.append(types.Diagnostic(_range(document, line, column, end), f"{one.about}{fix}", level, code=one.rule, source=_SOURCE))
    for error in told.unreadable:
        where = _range(document, max(error.line, 1), max(error.column, 1), max(error.column, 1) + 1)
        out.append(types.Diagnostic(where, error.text, types.DiagnosticSeverity.Error, code="unreadable", source=_SOURCE))
    return out


def _range(document: TextDocument, line: int, column: int, end: int) -> types.Range:
    """A span in the protocol's own units of characters."""
    lines = document.lines
    text = lines[line - 1] if line <= len(lines) else ""
    units = document.position_codec.client_num_units
    start, stop = units(text[: column - 1]), units(text[: end - 1])
    return types.Range(types.Position(line - 1, start), types.Position(line - 1, max(stop, start + 1)))


def _place(document: TextDocument, position: types.Position) -> tuple[int, int]:
    """A line and a column from 1, in characters."""
    at = document.position_codec.position_from_client_units(document.lines, position)
    return at.line + 1, at.character + 1


def _all(document: TextDocument) -> types.Range:
    return types.Range(types.Position(0, 0), types.Position(len(document.lines), 0))


def _name(document: TextDocument) -> str:
    return unquote(urlsplit(document.uri).path) or document.uri
