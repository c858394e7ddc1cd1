"""Answers a ConversionReview: a pure function from bytes to bytes. The room `conversion` converts its objects."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from ..api import deep
from ..api.line import Line
from ..api.paths import format_path
from ..api.wording import shorten
from ..conversion.lens.protocol import ConversionError
from ..conversion.objects import convert_object, target
from .envelope import (
    CONVERTED,
    FAULT,
    MAX_MESSAGE_CHARACTERS,
    MAX_NAME_CHARACTERS,
    REASONS,
    REFUSED,
    SAME,
    Answer,
    ConversionStatistics,
    RejectedError,
    Verdict,
    load,
    reject_http,
)
from .limits import MEMORY, Bound, BudgetError, look_for_signals
from .split_review import NotDivisibleError, SplitReview, split_review

if TYPE_CHECKING:
    from mmap import mmap  # a browser has none

    from .spool import Spool

_LOG: Final = logging.getLogger("webhooks.convert")
VERSIONS: Final = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
MAX_LISTED_OBJECTS: Final = 20  # that fail, in a message, and damaged annotations that one review logs
_START: Final = {version: b'{"apiVersion":"' + version.encode() + b'","kind":"ConversionReview","response":{"uid":' for version in VERSIONS}
_SUCCESS: Final = b',"result":{"status":"Success"},"convertedObjects":['
_END: Final = b"]}}"


class _MemorySink:
    """The sink of a short response."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, part: bytes) -> None:
        self.parts.append(part)

    def clear(self) -> None:
        self.parts.clear()

    def finish(self, response: Answer) -> Answer:
        return response if response.body else Answer(response.status, b"".join(self.parts), response.verdict)


Sink: TypeAlias = "Spool | _MemorySink"  # what takes a response, piece by piece


def answer(body: bytes, line: Line) -> Answer:
    """Answer one request body, for the definitions of a line; never raises.

    A review fails as a whole, as the protocol requires; its message names the objects that could not be converted.
    """
    sink = _MemorySink()
    return sink.finish(answer_into(body, sink, line))


def answer_into(body: bytes | mmap, sink: Sink, line: Line) -> Answer:
    """As `answer`, with the converted objects written to `sink`; either the sink or the body of the returned answer is empty.

    A short review is decoded whole, a long one object by object, which also keeps only one of them in memory.
    """
    if (parts := split_review(body)) is not None:
        try:
            return _last(_convert_split(body, parts, sink, line))
        except NotDivisibleError:
            sink.clear()
    try:
        request, version, uid, _ = load(memoryview(body), "ConversionReview", VERSIONS)
    except RejectedError as error:
        return reject_http(error.status, error.sentence, error.bound)
    objects, desired = request.get("objects"), request.get("desiredAPIVersion")
    if objects is not None and type(objects) is not list:
        return _make_failure(version, uid, 400, ["request.objects must be a list"], ConversionStatistics())
    if type(desired) is not str or not desired:
        return _make_failure(version, uid, 400, ["request.desiredAPIVersion must be a non-empty string"], ConversionStatistics())
    return _last(_ReviewConversion(desired, sink, line).run(_release_each(objects or []), version, uid))


def steps(body: bytes | mmap, longest: int, line: Line) -> Iterator[Answer | None]:
    """As `answer`, with a pause after each object: None, and the answer at last.

    Raises: NotDivisibleError, possibly after some pauses, unless the review is a list of light objects of at most `longest` bytes each.
    """
    parts = split_review(body)
    if parts is None or not parts.all_light(body, longest):
        raise NotDivisibleError
    sink = _MemorySink()
    for response in _convert_split(body, parts, sink, line):
        yield response and sink.finish(response)


def _last(steps: Iterator[Answer | None]) -> Answer:
    return next(filter(None, steps))


def _convert_split(body: bytes | mmap, parts: SplitReview, sink: Sink, line: Line) -> Iterator[Answer | None]:
    """Decode and convert one object after the other. Raises: NotDivisibleError."""
    try:
        request, version, uid, _ = load(parts.frame, "ConversionReview", VERSIONS)
    except RejectedError:
        raise NotDivisibleError from None
    desired = request.get("desiredAPIVersion")
    if not parts.has_mark(request) or type(desired) is not str or not desired:
        raise NotDivisibleError
    return _ReviewConversion(desired, sink, line).run(parts.objects(body), version, uid)


def _release_each(objects: list[Any]) -> Iterator[Any]:
    """Yield each object and release it, so that a long list isn't in memory twice."""
    for index, obj in enumerate(objects):
        objects[index] = None
        yield obj


class _ReviewConversion:
    """One review on its way."""

    def __init__(self, desired: str, sink: Sink, line: Line) -> None:
        self.target = target(desired, line)
        self.sink = sink
        self.tally = ConversionStatistics()
        self.failures: list[str] = []
        self.damaged: list[str] = []
        self.converted = 0
        self.failed = 0
        self.faults = 0

    def run(self, objects: Iterator[Any], version: str, uid: str) -> Iterator[Answer | None]:
        """Convert the objects in their order; pause after each, and end with the answer."""
        self.sink.write(b"".join((_START[version], orjson.dumps(uid), _SUCCESS)))
        count = 0
        try:
            began = time.perf_counter()
            for index, obj in enumerate(objects):
                count += 1
                look_for_signals()
                outcome = self._convert_one(obj, index)
                self.tally.add(obj, self.target.version, outcome, time.perf_counter() - began)
                yield None
                began = time.perf_counter()
        except (BudgetError, MemoryError) as error:
            self.sink.clear()
            bound = Bound.REQUEST_CPU if isinstance(error, BudgetError) else Bound.REQUEST_MEMORY
            sentence = f"{str(error) or MEMORY}; {self.converted} objects had been converted"
            response = _make_failure(version, uid, 413, [sentence], self.tally)
            response.verdict.bound = bound
            yield response
            return
        for text in self.damaged:  # only at the end: a review that turns out not to be divisible begins anew
            _LOG.warning("%s", text)
        if self.tally.damaged > MAX_LISTED_OBJECTS:
            _LOG.warning(
                "%d more annotations of review %s could not be used and are set aside", self.tally.damaged - MAX_LISTED_OBJECTS, uid[:64]
            )
        if self.failed:
            self.sink.clear()
            yield _make_failure(version, uid, 500 if self.faults else 422, self._sentences(count), self.tally)
            return
        self.sink.write(_END)
        yield Answer(200, b"", Verdict("converted", 200, uid[:MAX_NAME_CHARACTERS], "CONVERT", tally=self.tally))

    def _convert_one(self, obj: object, index: int) -> str:
        try:
            done = convert_object(obj, self.target)
            if not self.failed:
                text = deep.dump(done.object)
                self.sink.write(b"," + text if self.converted else text)
                self.converted += 1
        except ConversionError as refused:
            field = format_path(refused.path)
            self._fail(obj, index, f"{field}: {refused.reason}" if field else refused.reason)
            return REFUSED
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - the API server needs a response with the request's uid
            _LOG.exception("an object could not be converted")
            self.faults += 1
            self._fail(obj, index, f"conversion failed with {type(error).__name__}; this is an internal error")
            return FAULT
        for key in done.damaged:
            self.tally.damaged += 1
            if self.tally.damaged <= MAX_LISTED_OBJECTS:
                self.damaged.append(f"the annotation {key} of {_describe(done.object, 0)} could not be used and is set aside")
        return SAME if done.object is obj else CONVERTED

    def _fail(self, obj: object, index: int, reason: str) -> None:
        self.failed += 1
        if self.failed <= MAX_LISTED_OBJECTS:
            self.failures.append(f"{shorten(_describe(obj, index), 600)}: {shorten(reason, 500)}")

    def _sentences(self, objects: int) -> list[str]:
        more = [f"and {self.failed - MAX_LISTED_OBJECTS} more"] if self.failed > MAX_LISTED_OBJECTS else []
        head = f"{self.failed} of {objects} objects can't be converted to {shorten(self.target.api_version, 80)}"
        return [f"{head}: {self.failures[0]}", *self.failures[1:], *more]


def _describe(obj: object, index: int) -> str:
    """Kind and namespace/name of an object; without a name, its index in the review."""
    if type(obj) is not dict:
        return f"object {index}"
    metadata = obj.get("metadata")
    metadata = metadata if type(metadata) is dict else {}
    kind, namespace, name = (
        value[:MAX_NAME_CHARACTERS] if type(value) is str else ""
        for value in (obj.get("kind"), metadata.get("namespace"), metadata.get("name"))
    )
    return f"{kind or 'object'} {namespace}/{name}" if namespace and name else f"{kind or 'object'} {name or index}"


def _make_failure(version: str, uid: str, code: int, sentences: list[str], tally: ConversionStatistics) -> Answer:
    message = shorten("; ".join(sentences), MAX_LISTED_OBJECTS * MAX_MESSAGE_CHARACTERS)
    result = {"status": "Failure", "code": code, "reason": REASONS[code], "message": message}
    # the API server reads the list even of a failure
    response = {"uid": uid, "result": result, "convertedObjects": []}
    out = orjson.dumps({"apiVersion": version, "kind": "ConversionReview", "response": response})
    return Answer(200, out, Verdict("fault" if code == 500 else "refused", code, uid[:MAX_NAME_CHARACTERS], "CONVERT", tally=tally))


def example(uid: str = "ready") -> bytes:
    """A small review of one object, for the readiness check."""
    obj = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "ready"}}
    request = {"uid": uid, "desiredAPIVersion": "nvidia.com/v1beta1", "objects": [obj]}
    return orjson.dumps({"apiVersion": VERSIONS[0], "kind": "ConversionReview", "request": request})
