"""Input that can't be read: one sentence with its line and column, and our own words for a parser's complaints."""

from __future__ import annotations

from typing import Final

from ...api.kinds import GROUP
from ...api.wording import escape_unprintable


class InputError(ValueError):
    """A text that is no YAML or JSON of objects; `line` and `column` count from 1, 0 where the text as a whole is meant."""

    def __init__(self, text: str, name: str = "", line: int = 0, column: int = 0) -> None:
        """Keeps the sentence apart from the place, so that reports can show both their own way."""
        super().__init__(text)
        self.text = text
        self.name = name
        self.line = line
        self.column = column

    def __str__(self) -> str:
        """Writes `file:line:column: sentence`, on one line whatever the file is called."""
        place = f":{self.line}:{self.column}" if self.line else ""
        return escape_unprintable(f"{self.name}{place}: {self.text}" if self.name else self.text)

    def as_data(self) -> dict[str, str | int]:
        """The error in JSON reports."""
        return {"file": self.name, "line": self.line, "column": self.column, "message": self.text}


class ForeignInputError(InputError):
    """An error in a file without a Dynamo API group: a hook gets every file, and `tsconfig.json` may contain comments."""

    @classmethod
    def of(cls, error: InputError) -> ForeignInputError:
        """Mark an error as such."""
        return cls(f"{error.text}; it does not name {GROUP}, and is skipped", error.name, error.line, error.column)


# the parser's message -> the message for the author; the first fragment that occurs decides
_SENTENCES: Final = (
    ("cannot start any token", "this character can't begin a value; put the value in quotes"),
    ("found a tab", "must be indented with spaces, found a tab"),
    ("mapping values are not allowed", "a colon with a blank is not allowed here; check the indentation, or quote the value"),
    ("could not find expected ':'", "a key must be followed by a colon"),
    ("did not find expected key", "must be a key as deep as its neighbours; check the indentation"),
    ("did not find expected '-' indicator", "must be a list item as deep as its neighbours; check the indentation"),
    ("expected <block end>", "must be as deep as its neighbours; check the indentation"),
    ("block sequence entries are not allowed", "a list item is not allowed here; check the indentation"),
    ("block collections are not allowed", "a list or map is not allowed here; check the indentation"),
    ("',' or ']'", "a list in brackets must be closed with ]"),
    ("',' or '}'", "a map in braces must be closed with }"),
    ("unexpected end of stream", "a quoted text must be closed"),
    ("unexpected document indicator", "a quoted text must be closed before the next document"),
    ("while scanning a quoted scalar", "a quoted text must be closed"),
    ("unknown escape character", "a string in double quotes may contain only known escapes; use single quotes for backslashes"),
    ("hexdecimal number", "an escape must be followed by hexadecimal digits"),
    ("invalid Unicode character escape", "an escape must name a whole character, not half of a pair"),
    ("document start>", "the document must end here, or begin with ---"),
    ("did not find expected node content", "a value is required here"),
    ("undefined tag handle", "a tag must use a known handle"),
    ("control characters", "must not contain control characters"),
    ("special characters are not allowed", "must not contain control characters"),
    ("exceeded max depth", "must not be nested so deep"),
)


def format_problem(problem: str) -> str:
    """Says a parser's complaint in our own words; complaints that we don't know are passed on."""
    for fragment, words in _SENTENCES:
        if fragment in problem:
            return words
    return f"is not YAML: {problem}"
