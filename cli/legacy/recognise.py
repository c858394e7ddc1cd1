"""Recognises documents of the first releases. Cheap, since `check` does it for every document."""

from typing import Final

from ...api.kinds import ALPHA, api_version

BUILDS: Final = ("DynamoComponent", "DynamoNimRequest")
# The kinds of the first releases, with those that they became; an image build became none.
TODAY: Final = {
    "DynamoDeployment": "DynamoGraphDeployment",
    "DynamoNimDeployment": "DynamoComponentDeployment",
    "DynamoGraphDeployment": "DynamoGraphDeployment",
    "DynamoComponentDeployment": "DynamoComponentDeployment",
    **dict.fromkeys(BUILDS, ""),
}
# Two kinds kept their names. No current version has these fields of `spec`, so each identifies an old document.
MARKS: Final[dict[str, tuple[str, ...]]] = {
    "DynamoGraphDeployment": ("dynamoComponent",),
    "DynamoComponentDeployment": ("dynamoComponent", "dynamoTag", "externalServices"),
}
_API_VERSION: Final = api_version(ALPHA)


def recognise(data: object) -> str | None:
    """Returns the legacy kind of a document; None for every other document."""
    if not isinstance(data, dict) or data.get("apiVersion") != _API_VERSION:
        return None
    kind, spec = data.get("kind"), data.get("spec")
    if not isinstance(kind, str) or kind not in TODAY:
        return None
    marked = isinstance(spec, dict) and any(mark in spec for mark in MARKS.get(kind, ()))
    return kind if marked or kind not in MARKS else None
