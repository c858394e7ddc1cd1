"""What is known of a kind and version beside its schema: whether it exists, and whether the policies read it."""

from __future__ import annotations

from functools import cache

from api.kinds import BY_NAME, GROUP
from cli.nearest import hint
from policies.catalogue import rules


def unknown(kind: str, version: str) -> str:
    """What is wrong with a kind or version that does not exist, as the end of a sentence that begins with the field."""
    if kind in BY_NAME:
        versions = [known.name for known in BY_NAME[kind].versions]
        wanted = " or ".join(f"{GROUP}/{name}" for name in versions)
        return f'must be {wanted} for {kind}, got "{GROUP}/{version[:80]}"'
    return f'must be a kind of {GROUP}, got "{kind[:80]}"{hint(kind, BY_NAME)}'


@cache
def unread(kind: str, version: str, profile: str) -> str:
    """Why the validating policies do not apply to a kind and version as it stands; empty where they do, or where a kind has none.

    Policies read one version; objects of the other must be converted first.
    """
    read = {name for rule in rules(profile) if not rule.is_default for name in rule.kinds}
    if f"{kind}/{version}" in read:
        return ""
    others = sorted(name.partition("/")[2] for name in read if name.partition("/")[0] == kind)
    return f"policies read {kind} as {others[0]}, and conversion from {version} is not available yet" if others else ""
