"""Wording of messages in all rooms: a value's type with its article, texts cut to a length and kept on one line, addresses of pages."""

import re
from typing import Final

_ARTICLES: Final = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
# of this documentation, where people have given theirs; without blanks, quotes and brackets, because it is printed everywhere
URL: Final = re.compile(r"https?://[!#-;=?-_a-z~]{1,200}")


def article(value: object) -> str:
    """Names the type of a JSON value, for a sentence: "a list", "a number", and "nothing" for null."""
    return _ARTICLES.get(type(value), "nothing")


def shorten(text: str, limit: int) -> str:
    """Cuts a text to a length, with an ellipsis as its last character: names come from authors and may be absurdly long."""
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def count_of(number: int, thing: str) -> str:
    """A number with its noun: "1 file", "2 files"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def escape_unprintable(text: str) -> str:
    """Replaces every unprintable character of a text with its escape, such as `\\n` or `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def escape_unprintable_lines(text: str) -> str:
    """Replaces the unprintable characters of a text of several lines with their escapes; line feeds stay."""
    return text if text.isprintable() else "\n".join(map(escape_unprintable, text.split("\n")))


def rule_address(site: str, rule: str) -> str:
    """The address of the page of a rule; empty without a site, and for rules of the users, which it has no page for."""
    return f"{site.rstrip('/')}/rules/{rule}/" if site and "/" not in rule else ""
