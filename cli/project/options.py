"""The flags about the project file, and the file once it is read."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ..console.options import switch

if TYPE_CHECKING:
    from .load import Project


class ProjectOptions(NamedTuple):
    """Whether a project file is read, and the keys that no flag overrides."""

    no_project: Annotated[bool, switch("read no .dynamo-webhooks.yaml")] = False
    file: "Project | None" = None
    laid: frozenset[str] = frozenset()  # names of the keys that the file decides

    def value(self, key: str) -> Any:
        """The file's value of a key; None where a flag decides, or nothing does."""
        return self.file.values[key] if self.file is not None and key in self.laid else None
