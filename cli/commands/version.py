"""The command `version`: what this is, what it runs on, and what it knows, as JSON."""

from __future__ import annotations

import argparse

from dynamo_webhooks.cli import flags

HELP = "print versions as JSON"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares no flags of its own: the answer is always whole."""
    flags.verbose(parser)


def installed() -> str:
    """The version of the installed distribution, `unknown` in a checkout that was not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dynamo-webhooks")
    except PackageNotFoundError:
        return "unknown"


def run(arguments: argparse.Namespace) -> int:
    """Prints one JSON document."""
    import platform

    import orjson

    from dynamo_webhooks.api.kinds import GROUP, KINDS
    from dynamo_webhooks.cli.exits import OK
    from dynamo_webhooks.cli.output import write
    from dynamo_webhooks.policies.review import PROFILES

    del arguments
    known = {
        "version": installed(),
        "python": platform.python_version(),
        "profiles": list(PROFILES),
        "kinds": [{"kind": kind.name, "group": GROUP, "versions": [version.name for version in kind.versions]} for kind in KINDS],
    }
    write(orjson.dumps(known, option=orjson.OPT_INDENT_2).decode() + "\n")
    return OK
