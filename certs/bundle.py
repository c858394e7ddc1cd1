"""The one form of a bundle of authorities: same content, same bytes, no write. Which authorities belong into it, trust.py decides."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from .certificate import Certificate, read_certificates

LARGEST: Final = 4  # more authorities than this at once mean that something turns in circles


def compose_bundle(authorities: Iterable[Certificate], served: Iterable[Certificate], now: datetime) -> bytes:
    """Writes authorities as PEM in their order, each once, at most four; expired ones only while they issued a leaf still served.

    Never empty unless nothing was given: an empty bundle means the roots of the system, which don't know us. When there are too many,
    the first two stay (they carry the rotation), then those that issued a served leaf, then the others.
    """
    leaves = tuple(served)
    unique = tuple(dict.fromkeys(authorities))
    kept = tuple(one for one in unique if one.not_after > now or _serves(one, leaves)) or unique[:1]
    if len(kept) > LARGEST:
        more = sorted(kept[2:], key=lambda one: not _serves(one, leaves))[: LARGEST - 2]
        kept = (*kept[:2], *(one for one in kept[2:] if one in more))
    return b"".join(one.pem for one in kept)


def holds(bundle: bytes, authorities: Iterable[Certificate]) -> bool:
    """Whether a bundle trusts all of these; all its blocks are read."""
    return set(authorities) <= set(read_certificates(bundle))


def _serves(authority: Certificate, leaves: tuple[Certificate, ...]) -> bool:
    return any(authority.issued(leaf) for leaf in leaves)
