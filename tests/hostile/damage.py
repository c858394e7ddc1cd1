"""Damage to a text as bytes, whatever it says: cut, flipped, inserted, repeated, encoded otherwise."""

import gzip
from random import Random
from typing import Final

_PIECES: Final = (
    *(b"", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\\u", b"\\ud800", b"null", b"\x00", b"\xff", b"\xc0\xaf"),
    *(b"\xed\xa0\x80", b"\xf4\x90", b"1e400", b"-", b"9" * 30, b"{" * 50, b"[" * 2_000, b'{"a":' * 300, b" " * 100, b"\r\n"),
    *(b"\xef\xbb\xbf", b"/*", b"NaN", b"\xe2\x80\xa8", b"---\n"),
)


def damaged(random: Random, text: bytes) -> bytes:
    """The text after one to three kinds of damage."""
    for _ in range(1 + int(random.random() * 3)):
        text = _once(random, text)
    return text


def _once(random: Random, text: bytes) -> bytes:
    at = int(random.random() * (len(text) + 1))
    to = min(len(text), at + int(random.random() ** 3 * 200))
    way = int(random.random() * 12)
    if way < 2:
        return text[:at]
    if way < 5:
        return _flipped(random, text)
    if way < 7:
        return text[:at] + random.choice(_PIECES) + text[at:]
    if way == 7:
        return text[:at] + text[to:]
    if way == 8:
        return text[:to] + text[at:to] * random.choice((1, 3, 40)) + text[to:]
    if way == 9:
        return text[:at] + random.randbytes(to - at) + text[to:]
    if way == 10:
        return text[:at] + random.choice(_PIECES) + text[to:]
    return _otherwise(random, text)


def _flipped(random: Random, text: bytes) -> bytes:
    out = bytearray(text)
    for _ in range(1 + int(random.random() * 4)):
        if out:
            out[int(random.random() * len(out))] ^= 1 << int(random.random() * 8)
    return bytes(out)


def _otherwise(random: Random, text: bytes) -> bytes:
    """The text in another encoding, compressed, twice, behind something, or not at all."""
    way = int(random.random() * 8)
    if way == 0:
        return text.decode(errors="replace").encode("utf-16")
    if way == 1:
        return text.decode(errors="replace").encode("utf-32-be")
    if way == 2:
        return gzip.compress(text, compresslevel=1)
    if way == 3:
        return text + text
    if way == 4:
        return random.choice(_PIECES) + text
    if way == 5:
        return text + random.choice(_PIECES)
    return text[::-1] if way == 6 else b""
