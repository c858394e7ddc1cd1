"""Text from others on one line of a terminal: a file's or object's name can neither break the line nor paint the screen."""

from __future__ import annotations

from api.wording import printable

__all__ = ("printable",)
