"""What reads bytes or text from strangers, as functions of bytes that raise when something must not be; guided.py calls them."""

import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

import dynamo_webhooks
from dynamo_webhooks.api.decode import MAX_ERRORS, METADATA, Shape, _describe, decoder, shape_of
from dynamo_webhooks.api.schema import whole_schema
from dynamo_webhooks.cli.yaml.load import Document, InputError, Source, read_text
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.legacy import RECORD
from dynamo_webhooks.conversion.remainder import Remainder, read_remainder, write
from dynamo_webhooks.webhooks.envelope import RejectedError, read
from tests.laws.dice import Dice
from tests.laws.hostile import DAMAGED, LEFTISH, LEGACY, RIGHTISH, STATUS
from tests.laws.strategies import PAIRS, make_object


class Target(NamedTuple):
    """A function to try, the inputs to begin with, and the files whose lines count as reached."""

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    files: frozenset[str]


def _files(folder: str, *modules: str) -> frozenset[str]:
    files = [Path(dynamo_webhooks.__path__[0], folder, f"{name}.py") for name in modules]
    return frozenset(str(file) for file in files if file.stat())


def envelope(body: bytes) -> None:
    """A review is read, or rejected by a sentence with an HTTP status."""
    try:
        call = read(body)
    except RejectedError as error:
        rejected = error
    else:
        assert type(call.uid) is type(call.operation) is str
        return
    assert rejected.status == 400
    assert 10 < len(rejected.sentence) < 300


def decode(body: bytes) -> None:
    """Whatever JSON says, the decoder of any kind (drawn by the first byte) accepts it or names places in it."""
    kind, version = PAIRS[body[0] % len(PAIRS)] if body else PAIRS[0]
    try:
        value = orjson.loads(body[1:])
    except orjson.JSONDecodeError:
        return
    errors = decoder(kind, version)(value)
    assert len(errors) <= MAX_ERRORS
    assert all(error.message.startswith("must be ") for error in errors)
    assert (errors == ()) is _well_typed(kind, version, value), "the two readings of one shape differ"


def _well_typed(kind: str, version: str, value: Any) -> bool:
    """The same question asked of the part that describes errors, which is written apart from the part that is quick."""
    if type(value) is not dict or any(value.get(name) not in (None, "", want) for name, want in _type(kind, version)):
        return False
    return not any(_describe((), _shape(kind, version), value, lambda _shape: lambda _value: False))


@cache
def _shape(kind: str, version: str) -> Shape:
    shape = shape_of(whole_schema(kind, version), {})
    fields = {name: field for name, field in shape.fields.items() if name not in {"apiVersion", "kind"}}
    return Shape("object", {**fields, "metadata": METADATA})


def _type(kind: str, version: str) -> tuple[tuple[str, str], ...]:
    return (("apiVersion", f"nvidia.com/{version}"), ("kind", kind))


def remainder(body: bytes) -> None:
    """What annotations remember is read or set aside; what was read, is written and read again as the same.

    The first byte draws the kind and direction; the annotations' texts follow, then those of older operators and what is known of them.
    """
    names = sorted(KINDS)
    first = body[0] if body else 0
    kind, rightward = KINDS[names[first % len(names)]], bool(first & 64)
    keys = (kind.spec_key, kind.status_key, *((*sorted(kind.legacy.keys), RECORD) if kind.legacy else ()))
    annotations = dict(zip(keys, body[1:].decode(errors="replace").split("\x00"), strict=False))
    remembered, damaged = read_remainder(kind, annotations, rightward)
    assert set(damaged) <= set(annotations)
    assert all(damaged[key] == annotations[key] for key in damaged)
    written = write(kind, remembered)
    again, worse = read_remainder(kind, written, rightward)
    assert not worse
    assert _same(again, remembered), f"{remembered} became {again}"


def _same(first: Remainder, second: Remainder) -> bool:
    """Equal but for `present`, which says that there was a text at all, if an empty one."""
    return all(getattr(first, name) == getattr(second, name) for name in ("spec", "status", "differences", "legacy"))


def yaml(body: bytes) -> None:
    """A text is read into plain data with positions, or refused by a sentence; JSON says the same as to a reader of JSON.

    Not a lone text: it is YAML, for kubectl, too, and U+0085 in it ends a line.
    """
    text = body.decode(errors="surrogateescape")
    documents = list(read_text(Source("-", text)))
    for document in documents:
        if isinstance(document, InputError):
            assert document.text
            assert (document.line >= 1) is (document.column >= 1)
        else:
            _plain(document)
    if len(documents) == 1 and isinstance(documents[0], Document) and isinstance(documents[0].data, dict | list):
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError:
            return
        assert _alike(documents[0].data, value), f"{documents[0].data!r} instead of {value!r}"


def _plain(document: Document) -> None:
    """Values are of JSON's types alone, and each has a position inside the text."""
    lines = len(document.source.lines)
    stack: list[tuple[Any, tuple[Any, ...]]] = [(document.data, ())]
    for value, path in stack:
        assert type(value) in (dict, list, str, int, float, bool, type(None)), type(value)
        if len(path) < 12:
            where = document.position(path)
            assert 1 <= where.line <= lines + 1, where
        if len(stack) > 300:
            return
        if type(value) is dict:
            assert all(type(key) is str for key in value), list(value)
            stack += [(below, (*path, key)) for key, below in value.items()]
        elif type(value) is list:
            stack += [(below, (*path, index)) for index, below in enumerate(value)]


def _alike(ours: Any, theirs: Any) -> bool:
    """Equal, numbers by their value: each reader has floats alone beyond some number of bits, 63 or 64."""
    if type(ours) is dict and type(theirs) is dict:
        return ours.keys() == theirs.keys() and all(_alike(ours[key], theirs[key]) for key in ours)
    if type(ours) is list and type(theirs) is list:
        return len(ours) == len(theirs) and all(_alike(item, other) for item, other in zip(ours, theirs, strict=True))
    if float in (type(ours), type(theirs)) and {type(ours), type(theirs)} <= {int, float}:
        return math.isclose(ours, theirs)
    return bool(ours == theirs) and (type(ours) is bool) is (type(theirs) is bool)


def _objects() -> list[Any]:
    dice = Dice("targets")
    return [make_object(dice, kind, version, odd=True) for kind, version in PAIRS for _ in range(6)]


def _texts() -> list[bytes]:
    """What people write: each thing that YAML says otherwise than JSON, once."""
    return [
        b"a: 1\nb: [x, {y: z}]\n---\n# only this\n--- # more\nc: |\n  text\n   more\n\nd: >-\n  folded\n  text\n",
        b"base: &b {x: 1, y: ~}\nmore:\n  <<: *b\n  y: yes\nlist:\n- a\n- - b\n  - !!str 1\n? k\n: v\n",
        b"i: [0x1F, 0o17, 017, 1_000, +1, -0, .5, 1e3, .inf, -.INF, .nan, 1:30, 0b11]\nd: 2026-01-01\nt: 'it''s'\nu: \"\\u00e9\\x41\\n\"\n",
        b"%YAML 1.1\n%TAG ! tag:x,2000:\n---\n{a: b, 'c': !x d}\n...\n--- {}\n",
        b'{"a": {{ .Values.x }}, "b": [1, 2.5, true, null, "\\ud83d\\ude00"]}\n{"c": 1}',
    ]


def _remainders() -> Iterator[bytes]:
    """What other graphs, components and requests would carry, in both directions; with texts of older operators behind it."""
    legacy = KINDS["DynamoGraphDeploymentRequest"].legacy
    assert legacy
    older = b"\0".join(LEGACY[key.removeprefix("nvidia.com/dgdr-")][0].encode() for key in sorted(legacy.keys))
    older += b'\0{"legacy":[["nvidia.com/dgdr-output-pvc","o",""]]}'
    for number, short in enumerate(("dcd", "dgd", "dgdr", "dgdsa")):
        for specs, side in ((LEFTISH, 0), (RIGHTISH, 64)):
            for spec in specs[short]:
                text = orjson.dumps({"version": 1, "spec": spec, "kept": [[["spec", "x"], 1]]})
                yield from (bytes([number | side, *text, 0, *orjson.dumps(status), 0]) + older for status in STATUS[short])


TARGETS: Final[dict[str, Target]] = {
    "envelope": Target(
        envelope,
        lambda: [b'{"kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","userInfo":{"username":"j"},"object":{}}}', b"[]"],
        _files("webhooks", "envelope"),
    ),
    "decode": Target(
        decode,
        lambda: [bytes([index // 6]) + orjson.dumps(obj) for index, obj in enumerate(_objects())],
        _files("api", "decode", "scalars"),
    ),
    "remainder": Target(
        remainder,
        lambda: [*_remainders(), *(b"\x01" + text.encode() for text in DAMAGED if len(text) < 1_000)],
        _files("conversion", "remainder", "legacy", "difference", "request_legacy"),
    ),
    "yaml": Target(
        yaml,
        lambda: [*_texts(), *(orjson.dumps(obj) for obj in _objects()[:8])],
        _files("cli/yaml", "load", "build", "json_text", "yaml_text", "scalars", "positions"),
    ),
}
