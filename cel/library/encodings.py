"""Base64."""

from __future__ import annotations

import base64
import binascii

from ..errors import EvaluationError
from ..overloads import function

function("base64.encode", bytes)(lambda value: base64.b64encode(value).decode())


@function("base64.decode", str)
def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError("illegal base64 data") from None
