"""Deliberate mistakes in the engine and in the declarations: each is noticed by the worked examples or by the laws on a small budget."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from dynamo_webhooks.api.line import NEWEST
from dynamo_webhooks.conversion import component, engine, remainder, services
from dynamo_webhooks.conversion.component import Roles
from dynamo_webhooks.conversion.difference import apply_differences
from dynamo_webhooks.conversion.pod_template import compose
from tests.conversion.worked_examples import load_examples, walk
from tests.laws.dice import Dice
from tests.laws.examples import COUNTEREXAMPLES, edited
from tests.laws.laws import away, violations
from tests.laws.strategies import PAIRS, edit, make_object

EXAMPLES = load_examples()
BUDGET = 40  # generated objects of a kind and version


def complaints() -> Iterator[str]:
    """What the suite has to say, cheapest first."""
    for example in EXAMPLES:
        yield from walk(example)
    for obj, parts in COUNTEREXAMPLES:
        yield from violations(obj, edited(obj, parts))
    for kind, version in PAIRS:
        yield from _generated(kind, version)


def _generated(kind: str, version: str) -> Iterator[str]:
    for number in range(BUDGET):
        dice = Dice("mutants", kind, version, number)
        obj = make_object(dice, kind, version, odd=True, line=NEWEST)
        yield from violations(obj, edit(dice, away(obj)))


def _noticed() -> str:
    """The first complaint, a sentence or an exception; empty without one. A mutant with the wrong parameters is an error."""
    try:
        return next(complaints(), "")
    except TypeError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a mutant raises is a complaint
        return repr(error)


READ: Final = remainder.read_remainder
FORWARD: Final = Roles.forward
MAIN: Final = compose._main
OBJECT: Final = remainder._object


def _change_the_source(self: Roles, left: dict[str, Any], *rest: Any) -> None:
    FORWARD(self, left, *rest)
    left.pop("subComponentType", None)


def _drop_options_of_mounts(*args: Any) -> dict[str, Any]:
    made = MAIN(*args)
    if "volumeMounts" in made:
        made["volumeMounts"] = [{key: mount[key] for key in ("name", "mountPath") if key in mount} for mount in made["volumeMounts"]]
    return made


# where something stands, its name, and what stands there by mistake
MUTANTS: Final[dict[str, tuple[Any, str, Any]]] = {
    "nothing is restored": (engine, "read_remainder", lambda *args, **more: (remainder.Remainder(), READ(*args, **more)[1])),
    "damaged texts are dropped": (engine, "read_remainder", lambda *args, **more: (READ(*args, **more)[0], {})),
    "there is no guard": (engine._Trials, "restore", lambda _self, parts, entries: apply_differences(parts, entries)),
    "no differences are kept": (engine, "find_differences", lambda have, want: []),
    "annotations are left": (engine, "annotation_keys", lambda kind: ()),
    "the order of lists is lost": (services, "_order", lambda services, remembered: sorted(services)),
    # both symmetrical, so that the laws alone would not notice
    "a role is forgotten": (component, "_PHASES", ("decode",)),
    "the other role is forgotten": (component, "_PHASES", ("prefill",)),
    "the source is changed": (Roles, "forward", _change_the_source),
    "options of mounts are dropped": (compose, "_main", _drop_options_of_mounts),
    "integers are floats": (
        remainder,
        "_object",
        lambda text: json.loads(json.dumps(OBJECT(text)), parse_int=lambda digits: int(float(digits))),
    ),
}


@pytest.mark.interpreted
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_noticed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[mutant])
    assert _noticed()


def test_nothing_is_noticed_without_a_mutant() -> None:
    """Otherwise the tests above would prove nothing."""
    assert _noticed() == ""
