"""The engine answers expressions by dice as another one does, cel-expr-python (cel-cpp).

That engine has none of Kubernetes' own functions; what names them is left to the API server (tests/cluster/cli/test_user_rules.py).
"""

import re
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from dynamo_webhooks.cel import CelError, compile_text
from tests.cel.expressions import Writer, make_object
from tests.cel.test_conformance import is_same

EXPRESSIONS: Final = 3000
OBJECTS: Final = 2
ERROR: Final = "an error"
_KUBERNETES: Final = re.compile(r"\bis(Quantity|IP|CIDR|URL|Semver|Sorted)\(|\b(quantity|ip|cidr)\(|\bip\.|\.(find|findAll|sum|min|max)\(")
_FOR_TWO: Final = re.compile(r"exists_one(?=\(\w+, \w+, )")  # the older spelling, which cel-go alone takes for two variables
_MADE: Final = (ext_optional.ExtOptional, ext_strings.ExtStrings)
_CONFIG: Final = "name: all\nextensions: [{name: two-var-comprehensions}, {name: sets}, {name: lists}]"
# Where the two differ, and an API server (tests/cluster) or cel-spec (its case) says what ours says.
_DIFFERENT: Final = {
    "whole numbers of booleans: neither cel-spec nor cel-go has int(bool)": (r"int\(", r"no such overload: int\(bool\)"),
    "%d is for whole numbers only in cel-go": (r"%d.*format\(", r"decimal clause can only be used on integers"),
    "lists have indexOf and lastIndexOf in Kubernetes": (r"ndexOf\(", r"\(list\)\.(indexOf|lastIndexOf)\("),
    "what stands in lists and maps is printed as by an older cel-go": (r"%s.*format\(", r"^$"),
    "an empty text has no characters in Go's strings.Split": (r"split\(''\)", r"^$"),
}


def _object(dice: Random) -> dict[str, Any]:
    """An object whose map has one entry at most: the language doesn't say in which order a map is read."""
    made = make_object(dice)
    return {"spec": made | ({"m": dict([*made["m"].items()][:1])} if "m" in made else {})}


def _second(environment: cel.Env, text: str, bindings: Mapping[str, Any]) -> tuple[Any, str]:
    """The value of an expression for the other engine; or an error and its words."""
    try:
        answer = environment.compile(text, disable_check=True).eval(data=bindings)
    except RuntimeError as error:
        return ERROR, str(error)
    return (ERROR, answer.plain_value()) if answer.type().name() == "ERROR" else (answer.plain_value(), "")


def _ours(text: str, bindings: Mapping[str, Any]) -> tuple[Any, str]:
    try:
        return compile_text(text, bindings).evaluate(bindings), ""
    except CelError as error:
        return ERROR, str(error)


def _reason(text: str, words: str) -> str | None:
    """Why the engines differ about an expression, of which one had an error."""
    return next((why for why, (named, reported) in _DIFFERENT.items() if re.search(named, text) and re.search(reported, words)), None)


def test_expressions_by_dice_are_answered_as_by_another_engine() -> None:
    dice = Random(20262)  # noqa: S311 - no secret
    texts: dict[str, None] = {}
    while len(texts) < EXPRESSIONS:
        writer = Writer(dice, "object.spec")
        write = dice.choice((writer.truth, writer.truth, writer._number, writer._text, writer._words))
        text = _FOR_TWO.sub("existsOne", write(dice.choice((1, 2, 2))))
        if len(text) < 160 and not _KUBERNETES.search(text):
            texts[text] = None
    config, extensions = cel.NewEnvConfigFromYaml(_CONFIG), [make() for make in _MADE]
    environment = cel.NewEnv(config=config, variables={"object": cel.Type.DYN}, extensions=extensions)
    values, reasons, different = [], [], []
    for text in texts:
        for _ in range(OBJECTS):
            bindings = {"object": _object(dice)}
            ours, our_words = _ours(text, bindings)
            theirs, their_words = _second(environment, text, bindings)
            values.append(ours)
            if not is_same(ours, theirs):
                reasons.append(_reason(text, our_words + their_words))
                different += [] if reasons[-1] else [(text, ours, our_words, theirs, their_words, bindings)]
    assert different == []
    assert all(values.count(each) > len(values) / 10 for each in (True, False, ERROR))
    assert len(reasons) < len(values) / 100
