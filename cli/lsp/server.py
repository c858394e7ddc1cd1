"""The language server's edge: pygls and the protocol's types. Texts are judged on every change, in the order in which changes come.

Editors send whole texts: pygls would apply a part of one to lines that end in places where the protocol's don't.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcMethodNotFound
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from dynamo_webhooks.cli.check.record import WARNING
from dynamo_webhooks.cli.commands.version import installed
from dynamo_webhooks.cli.lsp.answers import Asked, actions, meaning, offers, seen
from dynamo_webhooks.cli.output import say
from dynamo_webhooks.cli.yaml.load import Source

NAME: Final = "dynamo-webhooks"
_SOURCE: Final = "dynamo-webhooks"
_LINE_END: Final = re.compile("\r\n|[\n\r]")  # of the protocol; YAML 1.1 has more
_BEHIND: Final = 2**31 - 1  # a column behind every line


class Server(LanguageServer):
    """A server that says in one line what goes wrong, and goes on."""

    def report_server_error(self, error: Exception, source: object) -> None:
        """Tell of a message that can't be read, or of an internal error; pygls has answered a request."""
        if isinstance(error, JsonRpcMethodNotFound):
            return
        if source is JsonRpcException:  # pygls: while a message was read
            broken = "JSON" if isinstance(error, (ValueError, RecursionError)) else "a message of the protocol"
            say(f"a message from the editor is ignored: it must be {broken}")
        else:
            say(f"internal error: {type(error.__cause__ or error).__name__}; start the server with -v for a traceback")


def server(asked: Asked) -> Server:
    """A server that judges texts as asked; `start_io` runs it."""
    made = Server(NAME, installed(), text_document_sync_kind=types.TextDocumentSyncKind.Full)

    def read(uri: str) -> _Text:
        """An open text; pygls would read another one from the disk."""
        return _Text(made.workspace.text_documents.get(unquote(uri)) or TextDocument(uri, ""))

    def publish(uri: str) -> None:
        text = read(uri)
        found = _diagnostics(text, asked)
        made.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=text.version))

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
        text = read(params.text_document.uri)
        page = meaning(text.source.name, text.source.text, *text.place(params.position))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, page)) if page else None

    @made.feature(types.TEXT_DOCUMENT_COMPLETION)
    def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        text = read(params.text_document.uri)
        found = offers(text.source.name, text.source.text, asked, *text.place(params.position))
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
        text = read(params.text_document.uri)
        first, _ = text.place(types.Position(params.range.start.line, 0))
        last, _ = text.place(types.Position(params.range.end.line, _BEHIND))
        return [
            types.CodeAction(
                title=one.title,
                kind=types.CodeActionKind.QuickFix,
                edit=types.WorkspaceEdit(changes={params.text_document.uri: [types.TextEdit(text.whole, one.text)]}),
            )
            for one in actions(text.source.name, text.source.text, asked, first, last)
        ]

    return made


def _diagnostics(text: _Text, asked: Asked) -> list[types.Diagnostic]:
    told = seen(text.source.name, text.source.text, asked)
    out = []
    for one in told.findings:
        line, column, end = one.position
        level = types.DiagnosticSeverity.Warning if one.level == WARNING else types.DiagnosticSeverity.Error
        fix = f"\nfix: {one.fix}" if one.fix else ""
        out.append(types.Diagnostic(text.range(line, column, end), f"{one.about}{fix}", level, code=one.rule, source=_SOURCE))
    for error in told.unreadable:
        where = text.range(max(error.line, 1), max(error.column, 1), max(error.column, 1) + 1)
        out.append(types.Diagnostic(where, error.text, types.DiagnosticSeverity.Error, code="unreadable", source=_SOURCE))
    return out


class _Text:
    """A text of the editor: translates between its lines and columns, in the protocol's units, and ours: YAML's lines, and characters."""

    def __init__(self, document: TextDocument) -> None:
        self.version = document.version
        self.source = Source(unquote(urlsplit(document.uri).path) or document.uri, document.source)
        self._codec = document.position_codec
        self._counted = (-1, 0)  # the last offset that was asked for, and its units from its line's beginning

    @cached_property
    def _starts(self) -> list[int]:
        """Where in the text each line of the protocol begins."""
        return [0, *(end.end() for end in _LINE_END.finditer(self.source.text))]

    @property
    def whole(self) -> types.Range:
        """From the beginning to the end."""
        return types.Range(types.Position(0, 0), self._position(len(self.source.text)))

    def range(self, line: int, column: int, end: int) -> types.Range:
        """A span on one of our lines, at least one character wide."""
        start = self._offset(self.source.starts, line - 1, column - 1)
        stop = max(self._offset(self.source.starts, line - 1, end - 1), start)
        first, last = self._position(start), self._position(stop)
        return types.Range(first, last if last != first else types.Position(first.line, first.character + 1))

    def place(self, position: types.Position) -> tuple[int, int]:
        """A line and a column of ours."""
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
