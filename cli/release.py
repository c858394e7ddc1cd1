"""Which release of this project runs."""

from __future__ import annotations


def installed() -> str:
    """The version of the installed distribution, `unknown` in a checkout that was not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dynamo-webhooks")
    except PackageNotFoundError:
        return "unknown"
