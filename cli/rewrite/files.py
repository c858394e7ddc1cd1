"""Puts a changed text in the place of a file's old one; what else happened to the file meanwhile is never lost."""

from __future__ import annotations

import os
from typing import Final

from dynamo_webhooks.cli.exits import OK, REFUSED, UsageError
from dynamo_webhooks.cli.files import decode, load_bytes
from dynamo_webhooks.cli.output import say
from dynamo_webhooks.cli.yaml.errors import InputError

_BOM: Final = b"\xef\xbb\xbf"


def put(file: str, text: str, old: str | None) -> int:
    """Writes a file that was read as the old text, None where it need not be there; a byte order mark stays.

    A file that can't be written is told of, and the others are written all the same: returns the exit code.
    """
    from dynamo_webhooks.cli import replace

    try:
        before = load_bytes(file) if old is not None or os.path.exists(file) else b""  # noqa: PTH110 - pathlib's raises for odd names
        now = decode(before, file)
        if old is None or now == old:
            replace.replace(file, (_BOM if before.startswith(_BOM) else b"") + text.encode())
    except (InputError, UsageError) as error:
        say(str(error))
        return REFUSED
    if old in (None, now) or now == text:  # links may name one file twice: the second time it is written already
        return OK
    say(f"{file} is left as it is: it has changed since it was read; run the command again")
    return REFUSED
