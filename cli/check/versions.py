"""What is known of a kind and version beside its schema: whether it exists, and in which version the policies read it."""

from __future__ import annotations

from functools import cache

from dynamo_webhooks.api.kinds import BY_NAME, GROUP
from dynamo_webhooks.cli.check.objects import NO_KIND, NO_VERSION
from dynamo_webhooks.cli.nearest import hint
from dynamo_webhooks.policies.catalogue import rules


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


@cache
def read_as(kind: str, version: str, profile: str, *, defaults: bool = False) -> str:
    """The version in which policies (or defaults) read an object of a kind and version; empty where a kind has none.

    Where it is another than the object's, the object is converted first.
    """
    read = {name for rule in rules(profile) if rule.is_default is defaults for name in rule.kinds}
    if f"{kind}/{version}" in read:
        return version
    return min((name.partition("/")[2] for name in read if name.partition("/")[0] == kind), default="")
