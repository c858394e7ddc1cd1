"""Finds objects that are too long, or nearly, for their kind's other version, and says which field makes them so."""

from __future__ import annotations

from typing import Any

from dynamo_webhooks.api.kinds import BY_NAME, GROUP
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.doctor.finding import Finding, info, warning
from dynamo_webhooks.conversion import kinds
from dynamo_webhooks.conversion.bounds import MOST
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.weight import weighed

_LONGEST = 700  # characters of a path, which may hold names


def judged(obj: dict[str, Any], kind: str, version: str) -> list[Finding]:
    """An object that the other version shows in part is a warning, one on its way there is for information."""
    metadata = obj["metadata"]
    what = f"{kind} {metadata.get('namespace', '')}/{metadata['name']}"
    try:
        weight = weighed(kinds.KINDS[kind], obj, version, obj)
    except ConversionError as error:
        return [warning("sizes", what, f"can't be converted: {shortened(render(error.path), _LONGEST)} {error.reason}")]
    if weight is None:
        return []
    level = warning if weight.bytes > MOST else info
    edit = f"kubectl edit -n {metadata.get('namespace', '')} {BY_NAME[kind].plural}.{version}.{GROUP}/{metadata['name']}"
    return [level("sizes", what, f"{shortened(render(weight.path), _LONGEST)}: {weight.text}", edit)]
