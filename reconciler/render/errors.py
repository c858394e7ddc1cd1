"""The error for objects that can't be rendered."""

from ...api.paths import Path, format_path


class RenderError(ValueError):
    """A field that can't be rendered; `path` is in the rendered object, `reason` a sentence without a stop."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{format_path(path)}: {reason}" if path else reason)
        self.path, self.reason = path, reason
