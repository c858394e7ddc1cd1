"""The version that a container image's tag names, as the operator reads it since line 1.5 to learn which Dynamo runtime is inside."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from .at import At, Findings
from .components import find_main
from .review import Fields
from .words import quote_once

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_THREE: Final = rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
_IDENTIFIER: Final = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD: Final = r"[0-9A-Za-z-]+"
_VERSION: Final = re.compile(rf"[vV]?{_THREE}(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?(?:\+{_BUILD}(?:\.{_BUILD})*)?")
_MAX_CACHED_CHARACTERS: Final = 256  # a cache must not hold megabytes of what a client sends
_MAX_TAG_CHARACTERS: Final = 128  # a registry has none that is longer


def names_version(image: str) -> bool:
    """Whether the image's tag is a semantic version of three numbers; linear in the text. A digest is not looked at."""
    return _names_version_short(image) if len(image) <= _MAX_CACHED_CHARACTERS else _match(image) is not None


@lru_cache(maxsize=1024)  # most graphs run one image
def _names_version_short(image: str) -> bool:
    return _match(image) is not None


def find_runtime_version(component: Fields, engine: Fields | None = None) -> tuple[int, int, int] | None:
    """The three numbers of the runtime in an engine, or the main container: of the override, else of the tag; None if neither says."""
    override = component.get("runtimeVersionOverride")
    match = _VERSION.fullmatch(override) if override else _match((engine or find_main(component)[0]).get("image") or "")
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def _match(image: str) -> re.Match[str] | None:
    name = image.rpartition("/")[2].partition("@")[0]
    _, colon, tag = name.rpartition(":")
    tag = tag.strip()
    return _VERSION.fullmatch(tag) if colon and len(tag) <= _MAX_TAG_CHARACTERS else None


def explain_missing_version(at: At, images: Iterable[str | None]) -> Findings:
    """Requires the tags of images or `runtimeVersionOverride` to be a version; other rules require the images."""
    for image in dict.fromkeys(images):
        if image and not names_version(image) and not at.value.get("runtimeVersionOverride"):
            text = f'must be set where the image\'s tag is no version, got nothing beside the image "{quote_once(image)}"'
            yield at.required("runtimeVersionOverride", text, fix="set runtimeVersionOverride to the runtime's version, such as 1.5.0")
