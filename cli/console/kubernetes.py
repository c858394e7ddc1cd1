"""Reads a release of Kubernetes, such as 1.32."""

import re
from typing import Final

OLDEST_MINOR: Final = 30  # that is supported
RELEASE: Final = re.compile(r"1\.([3-9][0-9])")


def read_minor(word: str) -> int:
    """The minor release. Raises: ValueError with a sentence."""
    match = RELEASE.fullmatch(word)
    if match is None:
        raise ValueError(f'must be a release of Kubernetes from "1.{OLDEST_MINOR}" on, got {word}')
    return int(match[1])
