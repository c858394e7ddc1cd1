"""Wording of messages in all rooms: a value's type with its article, texts cut to a length and kept on one line."""

from typing import Final

_ARTICLES: Final = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}


def article(value: object) -> str:
    """What a JSON value is, for a sentence: "a list", "a number", and "nothing" for null."""
    return _ARTICLES.get(type(value), "nothing")


def shorten(text: str, limit: int) -> str:
    """Cuts a text to a length, with an ellipsis as its last character: names come from authors and may be absurdly long."""
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def count_of(number: int, thing: str) -> str:
    """A number with its noun: "1 file", "2 files"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def escape_unprintable(text: str) -> str:
    """The text with every character that doesn't print as its escape, such as `\\n` or `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def escape_unprintable_lines(text: str) -> str:
    """The same for a text of several lines, whose line feeds stay."""
    return text if text.isprintable() else "\n".join(map(escape_unprintable, text.split("\n")))
