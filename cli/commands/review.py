"""The command `review`: an AdmissionReview or ConversionReview in, the server's own answer out, byte for byte."""

from typing import Annotated, Any, NamedTuple

import orjson

from ...admission.pipeline import Settings
from ...admission.registration import Purpose
from ...webhooks.admission import answer
from ...webhooks.routes import ALIASES, CONVERT, ROUTES, Route, route_path
from ..console import flags
from ..console.escaping import JSON, escape_commands
from ..console.exits import OK, REFUSED, UNREADABLE, UsageError
from ..console.flags import FactFlags
from ..console.nearest import did_you_mean
from ..console.options import argument, option, switch
from ..console.output import write_bytes, write_stderr
from ..facts.load import read_facts
from ..files.read import load_bytes
from ..yaml.errors import InputError

HELP = "answer an AdmissionReview or ConversionReview from a file as the server does"


class Options(NamedTuple):
    """Flags and arguments."""

    review: Annotated[str, argument("review as JSON, or - for standard input", "FILE")]
    path: Annotated[str | None, option("path to post it to (default: that of request.kind)")] = None
    mutate: Annotated[bool, switch("use the mutating webhook instead of the validating one")] = False
    verbose: flags.Verbose = False
    facts: FactFlags = FactFlags()


def run(options: Options) -> int:
    """Prints the response; 0 when it allows or converts, 1 when it refuses, 4 when no review could be answered."""
    if options.path and options.mutate:
        raise UsageError("--mutate chooses the path that --path already names")
    settings = Settings(read_facts(options.facts))
    write_stderr(f"as operator {settings.line} answers")
    try:
        body = load_bytes(options.review)
    except InputError as error:
        write_stderr(str(error))
        return UNREADABLE
    request = _request(body)
    route = _route(options.path, request, mutate=options.mutate)
    answered = answer(route, body, settings)
    write_bytes(escape_commands(answered.body.decode(), JSON).encode())
    if answered.status != 200:
        write_stderr(f"{options.review}: the server would answer HTTP status {answered.status} without a review")
        return UNREADABLE
    response = orjson.loads(answered.body)["response"]
    return OK if response.get("allowed") or response.get("result", {}).get("status") == "Success" else REFUSED


def _route(path: str | None, request: dict[str, Any] | None, *, mutate: bool) -> Route:
    """The route of a path, or of the kind that the request names. Raises: UsageError when there is none."""
    if path is not None:
        if (named := ROUTES.get(path) or ALIASES.get(path)) is None:
            raise UsageError(f"--path {path}: the server has no such path{did_you_mean(path, [*ROUTES, *ALIASES])}")
        return named
    purpose = Purpose.MUTATE if mutate else Purpose.VALIDATE
    if request is not None and "desiredAPIVersion" in request:
        return CONVERT
    if request is None:  # no path makes a review of it: the server's refusal is the same on all
        return next(route for route in ROUTES.values() if route.purpose is purpose)
    kind, version = _requested(request)
    route = ROUTES.get(route_path(kind, version, purpose))
    if route is None:
        what = f"{kind} {version}" if kind else "a review without request.kind"
        raise UsageError(f"no {'mutating' if mutate else 'validating'} webhook answers {what}; name a path with --path")
    return route


def _request(body: bytes) -> dict[str, Any] | None:
    """The review's request; None where there is none."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    request = review.get("request") if isinstance(review, dict) else None
    return request if isinstance(request, dict) else None


def _requested(request: dict[str, Any]) -> tuple[str, str]:
    """Kind and version that a request names, or else those of the object inside; empty where it says neither."""
    named = request.get("kind")
    if isinstance(named, dict) and isinstance(named.get("kind"), str):
        return named["kind"], str(named.get("version"))
    for field in ("object", "oldObject"):
        obj = request.get(field)
        if isinstance(obj, dict) and isinstance(obj.get("kind"), str):
            return obj["kind"], str(obj.get("apiVersion")).rpartition("/")[2]
    return "", ""
