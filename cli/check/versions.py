"""What is said of a kind or version that does not exist."""

from __future__ import annotations

from dynamo_webhooks.api.kinds import BY_NAME, GROUP
from dynamo_webhooks.cli.check.objects import NO_KIND, NO_VERSION
from dynamo_webhooks.cli.nearest import hint


def unknown(kind: str, version: str) -> str:
    """What is wrong with a kind or version that does not exist, as the end of a sentence that begins with the field."""
    if kind in BY_NAME:
        versions = [known.name for known in BY_NAME[kind].versions]
        wanted = " or ".join(f"{GROUP}/{name}" for name in versions)
        got = "nothing" if version == NO_VERSION else f'"{GROUP}/{version[:80]}"'
        return f"must be {wanted} for {kind}, got {got}"
    if kind == NO_KIND:
        return f"must be given: a kind of {GROUP}, such as DynamoGraphDeployment"
    return f'must be a kind of {GROUP}, got "{kind[:80]}"{hint(kind, BY_NAME)}'
