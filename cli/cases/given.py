"""The objects of a case's file: a case is judged as a whole, so one part that can't be read fails it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.cli.check.objects import objects
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.yaml.load import load

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.objects import Found


def given(name: str, text: str) -> list[Found]:
    """The objects of our kinds, in the order in which they stand.

    Raises: InputError for the first part that can't be read, UsageError when there is none.
    """
    found = list(objects(load(text, name)))
    if not found:
        raise UsageError(f"{name} holds no Dynamo object (group nvidia.com)")
    return found
