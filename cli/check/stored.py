"""An object of a file as the API server hands it to the webhooks: read into its type, pruned, with the schema's defaults."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from dynamo_webhooks.admission.pipeline import prepared
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check.objects import unknown
from dynamo_webhooks.cli.legacy.recognise import recognised

if TYPE_CHECKING:
    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.check.objects import Found
    from dynamo_webhooks.policies.review import Fields

LONGEST = 2_000  # characters of one message


class NotStoredError(Exception):
    """An object that no server would hold; the text is a sentence that names the field."""


def stored(found: Found, line: Line) -> Fields:
    """A copy of the object as a line has it, without the status, which is written through the subresource alone.

    Raises: NotStoredError for an unknown kind or version, an older form of the API, or a value of a wrong type.
    """
    kind, version = found.identity.kind, found.version
    older = recognised(found.data)
    if older is not None:
        raise NotStoredError(f"is {older} of an older form of the API; dynamo-webhooks convert writes the current one")
    if not found.known:
        raise NotStoredError(unknown(kind, version))
    obj = copy.deepcopy(found.data)
    if errors := prepared(obj, kind, version, line):
        raise NotStoredError(shortened(f"{render(errors[0].path)}: {errors[0].message}", LONGEST))
    obj.pop("status", None)
    return obj
