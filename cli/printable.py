"""Text from others on one line of a terminal: a file's or object's name can neither break the line nor paint the screen."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with every character that doesn't print as its escape, such as `\\n` or `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
