"""Drives the event parser of PyYAML over one chunk of text: that of libyaml where it is there. scalars.py gives words their meaning."""

import re
from typing import Any, Final, cast

import yaml
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from .build import MERGE, Builder
from .errors import InputError, format_problem
from .positions import Point
from .scalars import ScalarError, parse_plain_scalar, parse_tagged_scalar

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def _parser(text: str) -> Any:
    if yaml.__with_libyaml__:
        from yaml._yaml import CParser

        return CParser(text)
    return PureParser(text)


def feed(text: str, builder: Builder) -> None:
    """Feeds a chunk's events. Raises: InputError with line and column in the file."""
    try:
        parser = _parser(text)
        next_event = parser.get_event
        while (event := next_event()) is not None:
            kind = type(event)
            # more than half of all events
            if kind is yaml.ScalarEvent:
                _scalar(event, builder)
            elif kind is yaml.StreamEndEvent:
                return
            else:
                _take(event, kind, builder)
    except yaml.MarkedYAMLError as error:
        raise _readable(error, text, builder) from None
    except yaml.reader.ReaderError as error:
        raise _unreadable_character(error, text, builder) from None


def _take(event: Any, kind: type, builder: Builder) -> None:
    if kind is yaml.MappingStartEvent:
        builder.open({}, event.start_mark, event.anchor)
    elif kind is yaml.SequenceStartEvent:
        builder.open([], event.start_mark, event.anchor)
    elif kind in (yaml.MappingEndEvent, yaml.SequenceEndEvent):
        builder.close(event.end_mark)
    elif kind is yaml.AliasEvent:
        builder.alias(event.anchor, event.start_mark, event.end_mark)
    elif kind is yaml.DocumentStartEvent:
        builder.start_document()


def _scalar(event: Any, builder: Builder) -> None:
    text, start, implicit = event.value, event.start_mark, event.implicit[0]
    try:
        if implicit:
            builder.scalar(parse_plain_scalar(text), start, event.end_mark, event.anchor, merge=text == MERGE)
        else:
            value = parse_tagged_scalar(event.tag, text) if event.tag and not event.implicit[1] else text
            builder.scalar(value, start, event.end_mark, event.anchor)
    except ScalarError as error:
        raise builder.error(start, str(error)) from None


def _readable(error: yaml.MarkedYAMLError, text: str, builder: Builder) -> InputError:
    mark = error.problem_mark or error.context_mark
    problem = f"{error.context or ''} {error.problem or ''}"
    if mark is None:
        return InputError(format_problem(problem))
    if text[mark.index : mark.index + 1] == "\t":
        problem = "found a tab"
    # a text that is never closed is best shown where it begins
    begins = error.context_mark if "quoted" in problem and error.context_mark else mark
    return builder.error(begins, format_problem(problem))


def _unreadable_character(error: yaml.reader.ReaderError, text: str, builder: Builder) -> InputError:
    """Finds the character ourselves: libyaml counts bytes, the pure parser characters."""
    character = error.character if isinstance(error.character, int) else ord(str(error.character)[:1] or "\0")
    index = text.find(chr(character)) if character < 0x110000 else -1
    before = text[: max(index, 0)].split("\n")
    return builder.error(Point(len(before) - 1, len(before[-1])), f"must not contain control characters, found U+{character:04X}")


class PureParser(Reader, Scanner, Parser):
    """PyYAML's own reader, scanner and parser in one, as its loaders combine them."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def get_event(self) -> Any:
        """The next event, None behind the last; refuses what libyaml refuses and PyYAML lets through."""
        event = cast("Any", super()).get_event()
        if isinstance(event, yaml.ScalarEvent) and _SURROGATE.search(event.value):
            # an event's mark may be the C parser's for the stubs; this class is the pure parser, whose marks are the right ones
            raise yaml.MarkedYAMLError(problem="invalid Unicode character escape", problem_mark=event.start_mark)  # type: ignore[arg-type]
        return event
