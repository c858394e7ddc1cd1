"""The error for objects that can't be rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.api.paths import render

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path


class RenderError(ValueError):
    """A field that can't be rendered; `path` is in the rendered object, `reason` a sentence without a stop."""

    def __init__(self, path: Path, reason: str) -> None:
        """Keep both parts, which conditions and reports show separately."""
        super().__init__(f"{render(path)}: {reason}" if path else reason)
        self.path, self.reason = path, reason
