"""At the limits of types and functions the engine says what an API server says: a value, or an error where that has one.

What an API server finds out when it compiles an expression of constants, the engine may find out when it evaluates it.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random
from typing import Any, Final

import pytest

from dynamo_webhooks.cel import CelError, EvaluationError, compile_text
from dynamo_webhooks.cel.regex.syntax import scripts_of_unicode
from tests.cel.calls import write_calls
from tests.cel.expressions import Writer, make_object
from tests.cel.limits import EXPRESSIONS, SPEC
from tests.cluster.cli.test_user_rules import _WARNED, _policy, _post
from tests.cluster.harness import ControlPlane
from tests.cluster.objects import foreign
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.hostile.settings import EXPRESSIONS as HOSTILE
from tests.hostile.settings import SEARCH_SEED

THINGS: Final = "dice.example.com"
EACH: Final = 5  # expressions of a policy, whose warnings fit into the headers of a response
LAST: Final = "the last"
CALLS: Final = min(HOSTILE, 4_000)  # by dice
TRUTHS: Final = 300  # conditions by dice
OBJECTS: Final = 4  # that each is asked about


@pytest.fixture(scope="module")
def plane(planes: Planes) -> Iterator[ControlPlane]:
    """An API server with a kind of its own."""
    with planes.lend() as lent:
        lent.apply(foreign(THINGS, "Thing", "things"))
        yield lent


def _validation(number: int, text: str) -> dict[str, str]:
    return {
        "expression": f"[dyn({text})].size() == 0",
        "messageExpression": f"'{number}|%s'.format([dyn({text})])",
        "message": f"{number}|unprintable",
    }


def _rules(name: str) -> dict[str, Any]:
    matched = {"apiGroups": [THINGS], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["things"], "resourceNames": [name]}
    return {"resourceRules": [matched]}


def _compiles(plane: ControlPlane, validation: dict[str, str]) -> bool:
    policy, _ = _policy("tried", _rules("tried"), [validation], failurePolicy="Fail")
    reply = plane.request("POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All", policy)
    assert reply.status in (201, 422), reply.body
    return reply.status == 201


def _thing(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": f"{THINGS}/v1", "kind": "Thing", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def _enforce(plane: ControlPlane, name: str, validations: list[dict[str, str]]) -> None:
    """Makes a policy about the thing of its name, with a last validation that always warns."""
    policy, binding = _policy(name, _rules(name), [*validations, {"expression": "false", "message": LAST}], failurePolicy="Fail")
    for made in (policy, binding):
        reply = _post(plane, made)
        assert reply.status == 201, reply.body


def _said(plane: ControlPlane, name: str, spec: dict[str, Any]) -> list[str]:
    """What the policy about a thing warns of."""
    messages: list[str] = []

    def is_in_force() -> bool:
        reply = plane.request("POST", f"/apis/{THINGS}/v1/namespaces/default/things?dryRun=All", _thing(name, spec))
        messages[:] = [match[2] for warning in reply.warnings if (match := _WARNED.match(warning))]
        return LAST in messages

    wait_until(is_in_force, f"{name} being in force", plane.server)
    return [each for each in messages if each != LAST]


def _engine(number: int, text: str) -> str | None:
    """The value that the engine prints; None for an error."""
    request = {"options": {"kind": "CreateOptions"}, "dryRun": True}
    bindings = {"object": {"spec": SPEC}, "request": request}
    validation = _validation(number, text)
    try:
        compile_text(validation["expression"], bindings).evaluate(bindings)
    except CelError:
        return None
    try:
        printed = compile_text(validation["messageExpression"], bindings).evaluate(bindings)
    except CelError:
        printed = validation["message"]
    return str(printed).partition("|")[2]


def _asked(plane: ControlPlane, name: str, texts: Iterable[str]) -> dict[str, str | None]:
    """What an API server prints for each expression that it compiles; None for an error."""
    compiling = [(number, text) for number, text in enumerate(texts) if _compiles(plane, _validation(number, text))]
    policies = {f"{name}-{at}": compiling[at : at + EACH] for at in range(0, len(compiling), EACH)}
    for policy, few in policies.items():
        _enforce(plane, policy, [_validation(number, text) for number, text in few])
    matches = (re.fullmatch(r"(\d+)\|(.*)", each, re.DOTALL) for policy in policies for each in _said(plane, policy, SPEC))
    printed = {int(match[1]): match[2] for match in matches if match is not None}
    return {text: printed.get(number) for number, text in compiling}


def _different(texts: Iterable[str], printed: dict[str, str | None]) -> dict[str, tuple[str | None, str | None]]:
    return {text: (printed.get(text), ours) for number, text in enumerate(texts) if (ours := _engine(number, text)) != printed.get(text)}


def test_the_engine_says_what_an_api_server_says(plane: ControlPlane) -> None:
    printed = _asked(plane, "limits", EXPRESSIONS)
    assert _different(EXPRESSIONS, printed) == {}
    assert len(EXPRESSIONS) / 2 < sum(text is not None for text in printed.values())


def test_the_engine_answers_calls_by_dice_as_an_api_server(plane: ControlPlane) -> None:
    """Those that it compiles: it refuses many by their types, which the engine finds wrong when it evaluates them, or doesn't."""
    printed = _asked(plane, "dice", dict.fromkeys(islice(write_calls(Random(SEARCH_SEED)), CALLS)))  # noqa: S311 - no secret
    assert _different(printed, printed) == {}
    assert sum(text is not None for text in printed.values()) > CALLS / 4


def test_the_scripts_of_unicode_are_those_of_an_api_server(plane: ControlPlane) -> None:
    """It finds in all characters of the first two planes, one after the other, the ranges of each script."""
    every = "".join(chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000)
    # one built by Go 1.25 or later finds none with a second capital, such as Old_Italic
    scripts = {name: ranges for name, ranges in scripts_of_unicode().items() if name == name.capitalize()}
    assert len(scripts) > 100
    runs = {
        name: [every[every.index(low) : every.index(high) + 1] for low, high in ranges if high <= every[-1]]
        for name, ranges in scripts.items()
    }
    validations = [
        {"expression": f"object.spec.every.findAll('\\\\p{{{name}}}+') == object.spec.runs.{name}", "message": name} for name in scripts
    ]
    control = {"expression": "object.spec.every.findAll('\\\\p{Greek}+') == object.spec.runs.Latin", "message": "differs"}
    _enforce(plane, "scripts", [*validations, control])
    assert _said(plane, "scripts", {"every": every, "runs": runs}) == ["differs"]


def _verdicts(texts: list[str], spec: dict[str, Any]) -> list[str]:
    """What a policy warns of by the engine: the number of each expression that isn't true, or its error."""
    verdicts = []
    for index, text in enumerate(texts):
        try:
            if compile_text(text, {"object"}).evaluate({"object": {"spec": spec}}) is not True:
                verdicts.append(f"#{index}")
        except EvaluationError as error:
            verdicts.append(f"expression '{text}' resulted in error: {error}")
    return verdicts


def test_the_engine_answers_expressions_by_dice_as_an_api_server(plane: ControlPlane) -> None:
    """Verdict and words."""
    dice, writing = Random(7), Random(20261)  # noqa: S311 - no secret
    texts = dict.fromkeys(text for _ in range(TRUTHS * 9) if len(text := Writer(writing, "object.spec").truth()) < 160)
    compiling = [text for text in [*texts][:TRUTHS] if _compiles(plane, {"expression": text})]
    different, errors = [], 0
    for at in range(0, len(compiling), EACH):
        few, name = compiling[at : at + EACH], f"truths-{at}"
        _enforce(plane, name, [{"expression": text, "message": f"#{index}"} for index, text in enumerate(few)])
        for spec in (make_object(dice) for _ in range(OBJECTS)):
            server, engine = _said(plane, name, spec), _verdicts(few, spec)
            errors += sum("resulted in error" in each for each in server)
            different += [(name, server, engine, spec)] if server != engine else []
    assert len(compiling) * OBJECTS > 1000
    assert errors > 100
    assert different == []
