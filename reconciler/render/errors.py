"""What can't be rendered: an object that admission would have refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.api.paths import render

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path


class RenderError(ValueError):
    """A field that no children can be made of; `path` is one of the object that was rendered, `reason` a sentence without a stop."""

    def __init__(self, path: Path, reason: str) -> None:
        """Keeps both parts, because conditions and reports show them apart."""
        super().__init__(f"{render(path)}: {reason}" if path else reason)
        self.path, self.reason = path, reason
