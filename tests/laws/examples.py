"""Counterexamples that the laws' generators found once: an object, and an edit of its conversion where that matters."""

from __future__ import annotations

from typing import Any, Final

COUNTEREXAMPLES: Final[list[tuple[dict[str, Any], dict[str, Any] | None]]] = []
