"""Substitutes `${NAME}` and `$(NAME)` while a text is read, scalar by scalar, so that positions stay those of the text.

A value that begins with [ or { becomes a list or map if its placeholder is alone and unquoted, as if it had been written there.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from .errors import InputError

NAME: Final = "[A-Za-z_][A-Za-z0-9_]*"
# replaces ${NAME} for the parser: of the same length, without punctuation, which would end a word in a map in braces
_OPEN, _CLOSE, _BRACES, _BRACKETS = "\ue000", "\ue001", "\ue002", "\ue003"
_VEILED: Final = f"{_OPEN}({NAME}){_CLOSE}[{_BRACES}{_BRACKETS}]"
_SHORT: Final = 4  # characters below which a value is only hidden where a message quotes one: a 1 may be anything
_COMPARED: Final = 40  # characters at which a long value is recognised, wherever a message cuts it


class Fill:
    """The values that a run was given, by name."""

    def __init__(self, values: Mapping[str, str], read: Callable[[str], Any]) -> None:
        """`values` may hold anything that a file could: what a plain value means is decided as if it stood there.

        `read` returns the data of a text of one document. It raises InputError or ValueError.
        """
        self.values = values
        self._read = read
        self._blocks: dict[str, Any] = {}
        self._last: tuple[str, int, list[tuple[str, str]]] | None = None  # a text, the blocks known then, and the names it uses
        self._written = re.compile(rf"\$\{{({NAME})\}}|\$\(({NAME})\)")

    def veiled(self, text: str) -> str:
        """The text with a word of the same length for each name that has a value."""
        return self._written.sub(self._veil, text) if "$" in text else text

    def holds(self, text: str) -> bool:
        """Whether a veiled text holds such words."""
        return _OPEN in text

    def filled(self, text: str) -> str:
        """A veiled scalar with the values."""
        return re.sub(_VEILED, lambda found: self.values.get(found[1], found[0]), text) if _OPEN in text else text

    def block(self, text: str) -> Any:
        """The list or map of a masked scalar; None for any other scalar. Raises: InputError if it can't be read."""
        found = re.fullmatch(_VEILED, text)
        name = found[1] if found is not None else ""
        if not self.values.get(name, "").startswith(("[", "{")):
            return None
        if name not in self._blocks:
            try:
                self._blocks[name] = self._read(self.values[name])
            except (InputError, ValueError):  # its text may be a secret
                raise InputError(f"the value of ${{{name}}} begins as a list or map, and must be one in YAML or JSON") from None
        return self._blocks[name]

    def masked(self, told: str, text: str) -> str:
        """Replace quoted values in a message by their names: the values may be secrets, and logs are widely read."""
        for name, value in self._used(text):
            told = _without(told, value, f"${{{name}}}")
        return told

    def _used(self, text: str) -> list[tuple[str, str]]:
        """The names that a text uses, longest value first; kept for the next question about the same text, which may have thousands."""
        if self._last is None or self._last[0] is not text or self._last[1] != len(self._blocks):
            self._last = (text, len(self._blocks), self._found(text))
        return self._last[2]

    def _found(self, text: str) -> list[tuple[str, str]]:
        names = {found[1] or found[2] for found in self._written.finditer(text)}
        used = [(name, text) for name in names if self.values.get(name) for text in (self.values[name], *_texts(self._blocks.get(name)))]
        return sorted(used, key=lambda pair: (-len(pair[1]), pair))

    def _veil(self, found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return f"{_OPEN}{name}{_CLOSE}{_BRACES if found[1] else _BRACKETS}" if name in self.values else found[0]


def _texts(block: Any) -> Iterator[str]:
    """The texts in a list or map, which messages may quote one by one; what has been read is not nested deeply."""
    if isinstance(block, dict):
        block = list(block.values())
    if isinstance(block, list):
        for item in block:
            yield from _texts(item)
    elif block not in (None, "", True, False):
        yield str(block)


def _without(told: str, value: str, name: str) -> str:
    if len(value) < _SHORT:
        return re.sub(rf'((?:got|[Vv]alue:) "?){re.escape(value)}(?![\w.])', lambda found: f"{found[1]}{name}", told)
    begin = value[:_COMPARED]
    at = told.find(begin)
    while at >= 0:
        end = at + next((size for size, pair in enumerate(zip(told[at:], value, strict=False)) if pair[0] != pair[1]), len(value))
        end = min(end, len(told)) + (told[end : end + 1] == "\N{HORIZONTAL ELLIPSIS}")
        told = told[:at] + name + told[end:]
        at = told.find(begin, at + len(name))
    return told
