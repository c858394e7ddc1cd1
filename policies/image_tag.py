"""The version that a container image's tag names, as line 1.5 of the operator reads it to learn which Dynamo runtime is inside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.policies.domain import said

if TYPE_CHECKING:
    from dynamo_webhooks.policies.at import At
    from dynamo_webhooks.policies.rule import Hits

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER: Final = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD: Final = r"[0-9A-Za-z-]+"
_VERSION: Final = re.compile(rf"[vV]?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?(?:\+{_BUILD}(?:\.{_BUILD})*)?")
_LONGEST: Final = 128  # characters of a tag; a registry has none that is longer


def names_version(image: str) -> bool:
    """Whether the image's tag is a semantic version of three numbers; linear in the text. A digest is not looked at."""
    name = image.rpartition("/")[2].partition("@")[0]
    _, colon, tag = name.rpartition(":")
    tag = tag.strip()
    return bool(colon) and len(tag) <= _LONGEST and _VERSION.fullmatch(tag) is not None


def version_required(at: At, image: str | None) -> Hits:
    """What is wrong where neither an image's tag nor `runtimeVersionOverride` tells the version; without an image, other rules speak."""
    if image and not names_version(image) and not at.value.get("runtimeVersionOverride"):
        text = f'must be set where the image\'s tag is no version, got nothing beside the image "{said(image)}"'
        yield at.required("runtimeVersionOverride", text, fix="set runtimeVersionOverride to the runtime's version, such as 1.5.0")
