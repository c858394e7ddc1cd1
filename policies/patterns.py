"""Patterns of names and numbers."""

import re
from typing import Final

from .at import At, Findings
from .finding import Mend

LABEL_WANTED: Final = "must be a container name of at most 63 lower-case letters, digits and inner dashes"
_DOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_INT64: Final = range(-(2**63), 2**63)
_MAX_DIGITS: Final = 19  # of a number in that range


def is_domain(text: str) -> bool:
    """Whether a topology domain is well-formed; any length."""
    return _DOMAIN.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Whether a text is a DNS-1123 label: 1 to 63 lower-case letters, digits and inner dashes."""
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def parse_whole_number(text: str) -> int | None:
    """Parses a signed 64-bit integer in plain digits; None for anything else."""
    if not _WHOLE.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS:  # too large whatever they are, and long texts take Python long
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if number in _INT64 else None


def check_domain(at: At, field: str, domain: str | None) -> Findings:
    """Find a topology domain that is malformed."""
    if domain and not is_domain(domain):
        text = f'must be lower-case letters, digits and inner dashes, got "{domain}"'
        yield at.invalid(field, domain, text, mend=Mend(domain.lower()) if is_domain(domain.lower()) else None)
