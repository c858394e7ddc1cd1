"""Words that a shell can offer beside the choices of the parsers: rules, kinds, facts and the like, and where each list belongs."""

from __future__ import annotations

from typing import Final

# (command, the parser's name of the flag or argument) -> list
PLACES: Final = {
    ("check", "select"): "rules",
    ("check", "ignore"): "rules",
    ("explain", "words"): "pages",
    ("schema", "name"): "schemas",
    ("schema", "version"): "versions",
    ("convert", "fields"): "kinds",
    ("rules", "kind"): "kinds",
    ("crds", "kind"): "kinds",
}


def lists() -> dict[str, tuple[str, ...]]:
    """Every list by its name."""
    from dynamo_webhooks.api.kinds import ALPHA, BETA, KINDS, pairs
    from dynamo_webhooks.cli.check.outputs import FORMATS
    from dynamo_webhooks.cli.explain.rule import names as rules
    from dynamo_webhooks.cli.schema.kinds import MIXED
    from dynamo_webhooks.cli.schemas import names as outputs
    from dynamo_webhooks.policies.facts import Facts

    kinds = tuple(kind.name for kind in KINDS)
    return {
        "facts": tuple(f"{name}=" for name in Facts._fields),
        "formats": tuple(FORMATS),
        "kinds": kinds,
        "pages": (*rules(), *kinds),
        "rules": tuple(rules()),
        "schemas": (MIXED, *kinds, *(f"{kind}.{version}" for kind, version in pairs()), *outputs()),
        "switches": ("true", "false", "null"),
        "versions": (ALPHA, BETA),
    }
