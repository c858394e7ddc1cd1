"""Tells a document of the first releases from one of today. Cheap, since `check` asks it of every document."""

from __future__ import annotations

from typing import Final

from dynamo_webhooks.api.kinds import ALPHA, api_version

GRAPH: Final = "DynamoDeployment"
COMPONENT: Final = "DynamoNimDeployment"
BUILDS: Final = ("DynamoComponent", "DynamoNimRequest")
# Two kinds kept their names: these fields of `spec` no version of today's has, and each is enough to tell.
MARKS: Final[dict[str, tuple[str, ...]]] = {
    "DynamoGraphDeployment": ("dynamoComponent",),
    "DynamoComponentDeployment": ("dynamoComponent", "dynamoTag", "externalServices"),
}
_API_VERSION: Final = api_version(ALPHA)


def recognised(data: object) -> str | None:
    """The legacy kind of a document; None for every other document, those of today's kinds above all."""
    if not isinstance(data, dict) or data.get("apiVersion") != _API_VERSION:
        return None
    kind, spec = data.get("kind"), data.get("spec")
    if not isinstance(kind, str):
        return None
    if kind in (GRAPH, COMPONENT, *BUILDS):
        return kind
    marked = isinstance(spec, dict) and any(mark in spec for mark in MARKS.get(kind, ()))
    return kind if marked else None
