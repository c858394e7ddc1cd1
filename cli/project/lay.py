"""The entry of a command: lays the project file under its flags, and imports what that takes only where there is a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynamo_webhooks.cli.project.found import found

if TYPE_CHECKING:
    import argparse


def lay(arguments: argparse.Namespace, names: Sequence[str], paths: Sequence[str]) -> None:
    """Fills in what flags left open: the keys of these names, from the project file of these paths, where there is one.

    Sets `project`, None without a file, and `laid`, the names of the keys that the file decides.

    Raises: UsageError for a file that can't be used.
    """
    arguments.project, arguments.laid = None, frozenset()
    place = None if arguments.no_project else found(paths)
    if place is not None:
        from dynamo_webhooks.cli.project.laid import take

        take(arguments, place, names)
