"""Reads a remainder from an object's annotations, and writes that of the converted object.

The Go operator uses the same keys; it ignores the additional member `kept`. Damaged texts are set aside under another key, never dropped.
"""

import json
import sys
from typing import Any, Final

from ..api.decode import decoder
from ..api.deep import dump, load
from .bounds import PACKED, decompress
from .difference import Entry, is_well_formed
from .kind import LEFT, PREFIX, RIGHT, Kind
from .legacy import MEMBER, RECORD, LegacyEntry
from .legacy import is_well_formed as well_remembered
from .lens.protocol import Fields

ASIDE: Final = PREFIX + "dynamo-webhooks-aside."  # + the reserved key's last part: a damaged text
KEPT: Final = "kept"
BOTH: Final = "both"
_MEMBERS: Final = ("apart", "both", "differences", "legacy", "present", "spec", "status")
_LENGTHS: Final = ("sent", "unpacked")
_NAME_RECORD: Final = {"path": "serviceName", "nil": True}


class Remainder:
    """The values of one object that only the other version has. `spec` and `status` are sparse and typed like the other version.

    Not a dataclass, whose import would delay commands.
    """

    __slots__ = (*_MEMBERS, *_LENGTHS)

    def __init__(
        self,
        spec: Fields | None = None,
        status: Fields | None = None,
        differences: list[Entry] | None = None,
        present: bool = False,
        *,
        both: bool = False,
    ) -> None:
        """Empty by default. `present`: there is a valid remainder of the spec, even an empty one. `both`: each version has had values
        that the other lacks, so both sides have a remainder. `apart`: `legacy` has its own annotation, so as not to keep that of an empty
        spec. `sent` and `unpacked`: the lengths of the text that holds `differences`, as it came and as it was read."""
        self.spec: Fields = {} if spec is None else spec
        self.status: Fields = {} if status is None else status
        self.differences: list[Entry] = [] if differences is None else differences
        self.present = present
        self.legacy: list[LegacyEntry] = []
        self.both = both
        self.apart = False
        self.sent = self.unpacked = 0

    @property
    def has_values(self) -> bool:
        """Whether it holds more than the mark of the version in which the object was written first."""
        return bool(self.spec or self.status or self.differences or self.legacy)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remainder) and all(getattr(self, name) == getattr(other, name) for name in _MEMBERS)

    __hash__ = None  # type: ignore[assignment]  # it changes


def annotation_keys(kind: Kind) -> tuple[str, str]:
    """The annotation keys of a kind's remainder."""
    return kind.spec_key, kind.status_key


def packable(kind: Kind) -> tuple[str, ...]:
    """The keys whose annotations may be long."""
    return (kind.spec_key,) if kind.legacy is None else (kind.spec_key, RECORD)


def reserved_keys(kind: Kind) -> tuple[str, ...]:
    """All annotation keys of conversion, except those of texts set aside."""
    return annotation_keys(kind) if kind.legacy is None else (*annotation_keys(kind), RECORD, *kind.legacy.keys)


def read_remainder(kind: Kind, annotations: Fields, rightward: bool, *, part: bool = False) -> tuple[Remainder, dict[str, str]]:
    """Read the remainder for a conversion, and the damaged texts by key.

    In a `part` of an object, annotations of older operators are ignored: server-side apply keeps them when it removes their content.
    """
    remainder, damaged, known = Remainder(), {}, False
    version = RIGHT if rightward else LEFT
    text = annotations.get(kind.spec_key)
    if text:
        envelope, unpacked = _envelope(text)
        payload = envelope.get("spec") if envelope is not None and "spec" in envelope else envelope
        if envelope is None or not _sound(envelope) or not _fits(kind, version, "spec", payload):
            damaged[kind.spec_key] = text
        else:
            remainder.spec, remainder.present, remainder.both = payload or {}, True, (envelope or {}).get(BOTH) is True
            remainder.sent, remainder.unpacked = len(text), unpacked
            _read_envelope(remainder, envelope or {})
    text = annotations.get(kind.status_key)
    if text:
        status = _object(text)
        if status is None or not _fits(kind, version, "status", status):
            damaged[kind.status_key] = text
        else:
            remainder.status, known = status, True
    if kind.legacy is not None:
        text = annotations.get(RECORD)
        if text:
            remainder.apart = _read_record(remainder, _envelope(text)[0])
            damaged |= {} if remainder.apart else {RECORD: text}
        if not part:
            spec, state = kind.legacy.read(
                annotations, rightward, remainder.spec if remainder.present else None, remainder.status if known else None
            )
            remainder.spec, remainder.status = spec or {}, state or {}
    return remainder, damaged


def _read_envelope(remainder: Remainder, envelope: Fields) -> None:
    kept: Any = envelope.get(KEPT) or []
    records = envelope.get("rawJSON")
    if is_well_formed(kept):
        remainder.differences = kept
    _read_record(remainder, envelope)
    if type(records) is list and _NAME_RECORD in records and "serviceName" not in remainder.spec:
        remainder.spec = {**remainder.spec, "serviceName": None}


def _read_record(remainder: Remainder, envelope: Fields | None) -> bool:
    """Read how older annotations differed; returns whether the record is valid."""
    legacy: Any = (envelope or {}).get(MEMBER)
    if well_remembered(legacy):
        remainder.legacy = legacy
    return bool(remainder.legacy) and remainder.legacy is legacy


def _envelope(text: Any) -> tuple[Fields | None, int]:
    """Decode an object that may be compressed; also returns the length of the text that was decoded."""
    envelope = _object(text)
    if envelope is not None and PACKED in envelope:
        text = decompress(envelope[PACKED], len(text))
        envelope = _object(text)
    return envelope, len(text) if type(text) is str else 0


def _object(text: Any) -> Fields | None:
    """Decode a JSON object; `null` is an empty one, anything else damaged."""
    if type(text) is not str:
        return None
    import orjson

    try:
        value = load(text)
    except orjson.JSONDecodeError:
        return None
    return {} if value is None else value if type(value) is dict else None


def _sound(envelope: Fields) -> bool:
    """Whether the members beside a payload have the types that the Go operator requires."""
    if "spec" not in envelope:
        return True
    version, records = envelope.get("version"), envelope.get("rawJSON")
    return (version is None or type(version) is int) and (
        records is None or (type(records) is list and all(record is None or _is_record(record) for record in records))
    )


def _is_record(record: Any) -> bool:
    types = {"path": str, "raw": str, "nil": bool}
    return type(record) is dict and all(record.get(name) is None or type(record[name]) is kind for name, kind in types.items())


def _fits(kind: Kind, version: str, part: str, payload: Any) -> bool:
    return payload is None or (type(payload) is dict and decoder(kind.name, version)({part: payload}) == ())


def write(kind: Kind, saved: Remainder) -> dict[str, str]:
    """The annotations of a remainder; none if it is empty."""
    out: dict[str, str] = {}
    within = saved.legacy and not saved.apart
    if saved.present or saved.spec or saved.differences or within:
        payload = {name: value for name, value in saved.spec.items() if not (name == "serviceName" and value is None)}
        envelope: Fields = {"version": 1, "spec": payload}
        if "serviceName" in saved.spec and saved.spec["serviceName"] is None:
            envelope["rawJSON"] = [_NAME_RECORD]
        if saved.differences:
            envelope[KEPT] = saved.differences
        if within:
            envelope[MEMBER] = saved.legacy
        if saved.both:
            envelope[BOTH] = True
        out[kind.spec_key] = encode(envelope)
    if saved.legacy and saved.apart:
        out[RECORD] = encode({MEMBER: saved.legacy})
    if saved.status:
        out[kind.status_key] = encode(saved.status)
    return out


def encode(value: Any) -> str:
    """Compact JSON with sorted keys, so that equal values have equal bytes."""
    if "orjson" not in sys.modules and not _holds_float(value):
        return _encoded(value)  # the same bytes, without the cost of the import
    return dump(value, ordered=True).decode("utf-8", "surrogatepass")


_encoded: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def _holds_float(value: Any) -> bool:
    """Whether there is a float anywhere: the two encoders write some of them differently."""
    todo = [value]
    while todo:
        item = todo.pop()
        if type(item) is dict:
            todo += item.values()
        elif type(item) is list:
            todo += item
        elif type(item) is float:
            return True
    return False


def aside_key(key: str) -> str:
    """The key under which a reserved key's damaged text is set aside."""
    return ASIDE + key.removeprefix(PREFIX)
