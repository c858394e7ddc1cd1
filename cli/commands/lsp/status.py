"""What a text is judged by, as data: the line and the facts, for an editor that shows them. Contains no protocol."""

from typing import Any

from ....policies.facts import UNKNOWN
from ...console.program import installed_version
from ...validation.pipeline import Settings


def describe(settings: Settings) -> dict[str, Any]:
    """The version of this program, the line, the cluster of the project file, and the names of the other facts that are known."""
    known = [name for name, value in settings.facts._asdict().items() if value is not UNKNOWN and name != "operatorLine"]
    return {"version": installed_version(), "line": str(settings.line), "cluster": settings.cluster, "facts": known}
