"""The command `review`: an AdmissionReview or ConversionReview in, the server's own answer out, byte for byte, or in sentences."""

import argparse
import json
from collections.abc import Iterator
from typing import Any, Final

import orjson

from ...admission.pipeline import Admission, Settings
from ...admission.registration import Purpose
from ...api.paths import format_path
from ...api.wording import shorten
from ...webhooks.admission import answer
from ...webhooks.routes import ALIASES, CONVERT, ROUTES, Route, route_path
from ..console import flags
from ..console.escaping import JSON, inert
from ..console.exits import OK, REFUSED, UNREADABLE, UsageError
from ..console.nearest import did_you_mean
from ..console.output import write_bytes, write_stderr
from ..facts.load import read_fact_flags
from ..files.read import load_bytes
from ..yaml.errors import InputError
from .convert.fields import describe_remainder
from .explain import rule

_LONGEST: Final = 200  # characters of one value, as in `default`
HELP = "answer an AdmissionReview or ConversionReview from a file as the server does"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("file", metavar="FILE", help="review as JSON, or - for standard input")
    parser.add_argument("--path", help="path to post it to (default: that of request.kind)")
    parser.add_argument("--mutate", action="store_true", help="use the mutating webhook instead of the validating one")
    parser.add_argument(
        "--explain", action="store_true", help="explain on stderr each cause and its fix, each default's edit, and what conversion saves"
    )
    flags.verbose(parser)
    flags.facts(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the response; 0 when it allows or converts, 1 when it refuses, 4 when no review could be answered."""
    if arguments.path and arguments.mutate:
        raise UsageError("--mutate chooses the path that --path already names")
    settings = Settings(read_fact_flags(arguments))
    try:
        body = load_bytes(arguments.file)
    except InputError as error:
        write_stderr(str(error))
        return UNREADABLE
    request = _request(body)
    route = _route(arguments.path, request, mutate=arguments.mutate)
    answered = answer(route, body, settings)
    write_bytes(inert(answered.body.decode(), JSON).encode())
    if answered.status != 200:
        write_stderr(f"{arguments.file}: the server would answer HTTP status {answered.status} without a review")
        return UNREADABLE
    response = orjson.loads(answered.body)["response"]
    if arguments.explain:
        for line in _explain(route, request or {}, response, settings):
            write_stderr(line)
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


def _explain(route: Route, request: dict[str, Any], response: dict[str, Any], settings: Settings) -> Iterator[str]:
    """The lines that explain an answer; never empty: why each cause refuses and what mends it, and which default makes which edit."""
    if not route.kind:
        yield from _conversion(request, response)
        return
    told: set[str] = set()
    for warning in response.get("warnings", []):
        yield f"warning: {warning}"
        yield from _reasons(warning, told)
    if not response["allowed"]:
        status = response["status"]
        for cause in (status.get("details") or {}).get("causes") or [{"message": status["message"]}]:
            yield f"refused: {cause['field']}: {cause['message']}" if cause.get("field") else f"refused: {cause['message']}"
            yield from _reasons(cause["message"], told)
    elif "patch" in response:
        yield from _edits(route, request, settings, told)
    else:
        yield "allowed, and nothing is changed" if route.purpose is Purpose.MUTATE else "allowed"


def _reasons(message: str, told: set[str]) -> Iterator[str]:
    """The pages, in short, of the rules that a message names in brackets, each once in an answer."""
    for page in rule.in_message(message):
        yield from _short(page, told)


def _short(page: rule.Page, told: set[str]) -> Iterator[str]:
    if page["rule"] in told:
        return
    told.add(page["rule"])
    yield f"  {page['rule']} ({page['code']}): {_line(page['title'])}"
    yield f"  why: {_line(page['why'])}"
    if page["fix"]:
        yield f"  fix: {_line(page['fix'])}"


def _edits(route: Route, request: dict[str, Any], settings: Settings, told: set[str]) -> Iterator[str]:
    """The patch as edits, each with the default that wants it."""
    from .default.run import name_edits  # which imports the reading of YAML, and only this asks for

    said = (request.get("userInfo") or {}).get("username")
    user = said if isinstance(said, str) else ""
    write = Admission(
        route.kind, route.version, request["operation"], request["object"], request.get("oldObject"), user=user, settings=settings
    )
    for edit in name_edits(write.defaults()):
        before = "absent" if edit.before is None else _value(edit.before)
        yield f"edit: {shorten(format_path(edit.path), _LONGEST)}: {before} becomes {_value(edit.after)} [{edit.rule}]"
        page = rule.find(edit.rule)
        if page is not None:
            yield from _short(page, told)


def _conversion(request: dict[str, Any], response: dict[str, Any]) -> Iterator[str]:
    """What each converted object keeps aside, so that it comes back as it was."""
    if response["result"]["status"] != "Success":
        yield f"refused: {response['result']['message']}"
        return
    for obj in response["convertedObjects"]:
        metadata = obj.get("metadata") or {}
        name = "/".join(str(part) for part in (metadata.get("namespace"), metadata.get("name")) if part)
        yield f"converted: {obj['kind']} {name} to {request.get('desiredAPIVersion')}"
        for key, fields in describe_remainder(obj):
            yield f"  kept in the annotation {key}, to come back as it was: {', '.join(fields) or 'how the object was written'}"
    if not response["convertedObjects"]:
        yield "converted: no object"


def _value(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), _LONGEST)


def _line(text: str) -> str:
    return " ".join(text.split())
