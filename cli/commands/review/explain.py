"""A server's answer to a review, in sentences: why each cause refuses and what mends it, which default makes which edit, what conversion
keeps in annotations. The answer itself is made in `webhooks`."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from ....admission.pipeline import Admission, Settings
from ....api.paths import format_path
from ....api.wording import shorten
from ....webhooks.routes import Route
from ..explain import rule

LONGEST: Final = 200  # characters of one value, as in `default`


class Exchange(NamedTuple):
    """A review that was answered; both parts are decoded, and the answer is a review too."""

    route: Route
    request: dict[str, Any]
    response: dict[str, Any]
    settings: Settings


def explain_response(exchange: Exchange) -> Iterator[str]:
    """The lines that explain an answer; never empty."""
    if not exchange.route.kind:
        yield from _conversion(exchange)
        return
    response, told = exchange.response, set[str]()
    refused = not response["allowed"]
    for warning in response.get("warnings", []):
        yield f"warning: {warning}"
        yield from _reasons([warning], told)
    if refused:
        yield from _refusal(response["status"], told)
    elif "patch" in response:
        yield from _edits(exchange, told)
    else:
        yield "allowed, and nothing is changed" if exchange.route.purpose.value == "mutate" else "allowed"


def _refusal(status: dict[str, Any], told: set[str]) -> Iterator[str]:
    causes = (status.get("details") or {}).get("causes", [])
    if not causes:
        yield f"refused: {status['message']}"
        yield from _reasons([status["message"]], told)
    for cause in causes:
        yield f"refused: {cause['field']}: {cause['message']}" if cause.get("field") else f"refused: {cause['message']}"
        yield from _reasons([cause["message"]], told)


def _reasons(messages: Iterable[str], told: set[str]) -> Iterator[str]:
    """The pages, in short, of the rules that messages name in brackets, each once in an answer."""
    for message in messages:
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


def _edits(exchange: Exchange, told: set[str]) -> Iterator[str]:
    """The patch as edits, each with the default that wants it."""
    from ..default.edits import name_edits

    route, request = exchange.route, exchange.request
    said = (request.get("userInfo") or {}).get("username")
    user = said if isinstance(said, str) else ""
    old = request.get("oldObject")
    write = Admission(route.kind, route.version, request["operation"], request["object"], old, user=user, settings=exchange.settings)
    for edit in name_edits(write.defaults()):
        before = "absent" if edit.before is None else _value(edit.before)
        yield f"edit: {shorten(format_path(edit.path), LONGEST)}: {before} becomes {_value(edit.after)} [{edit.rule}]"
        page = rule.find(edit.rule)
        if page is not None:
            yield from _short(page, told)


def _conversion(exchange: Exchange) -> Iterator[str]:
    """What each converted object keeps aside, so that it comes back as it was."""
    from ..convert.remainder_notes import describe_remainder

    response, desired = exchange.response, exchange.request.get("desiredAPIVersion")
    if response["result"]["status"] != "Success":
        yield f"refused: {response['result']['message']}"
        return
    for obj in response["convertedObjects"]:
        metadata = obj.get("metadata") or {}
        name = "/".join(str(part) for part in (metadata.get("namespace"), metadata.get("name")) if part)
        yield f"converted: {obj['kind']} {name} to {desired}"
        for key, fields in describe_remainder(obj):
            yield f"  kept in the annotation {key}, to come back as it was: {', '.join(fields) or 'how the object was written'}"
    if not response["convertedObjects"]:
        yield "converted: no object"


def _value(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), LONGEST)


def _line(text: str) -> str:
    return " ".join(text.split())
