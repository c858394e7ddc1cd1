"""Deliberate mistakes in the engine and in the declarations: each is noticed by the worked examples or by the laws on a small budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import Phase
from hypothesis import strategies as st

import dynamo_webhooks.conversion.component
import dynamo_webhooks.conversion.engine
import dynamo_webhooks.conversion.remainder
import dynamo_webhooks.conversion.services
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.component import Roles
from dynamo_webhooks.conversion.difference import applied
from dynamo_webhooks.conversion.pod_template import compose
from tests.conversion.worked_examples import load_examples, walk
from tests.laws.dice import drawn
from tests.laws.examples import COUNTEREXAMPLES, edited
from tests.laws.laws import away, violations
from tests.laws.strategies import PAIRS, edit, make_object

EXAMPLES = load_examples()
BUDGET = hypothesis.settings(
    max_examples=40, deadline=None, database=None, derandomize=True, phases=[Phase.generate], report_multiple_bugs=False
)


def complaints() -> Iterator[str]:
    """What the suite has to say, cheapest first."""
    for example in EXAMPLES:
        yield from walk(example)
    for obj, parts in COUNTEREXAMPLES:
        yield from violations(obj, edited(obj, parts))
    for kind, version in PAIRS:
        yield from _generated(kind, version)


def _generated(kind: str, version: str) -> list[str]:
    found: list[str] = []

    @BUDGET
    @hypothesis.given(st.data())
    def check(data: st.DataObject) -> None:
        obj = make_object(drawn(data), kind, version, odd=True, line=Line.V1_5)
        if not found:
            found.extend(violations(obj, edit(drawn(data), away(obj))))

    check()
    return found


def _noticed() -> str:
    """The first complaint, be it a sentence or an exception; nothing when nobody notices."""
    try:
        return next(complaints(), "")
    except Exception as error:  # noqa: BLE001 - whatever a mutant raises is a complaint
        return repr(error)


def _never_restore(patch: pytest.MonkeyPatch) -> None:
    honest = dynamo_webhooks.conversion.remainder.read
    patch.setattr(
        dynamo_webhooks.conversion.engine, "read", lambda *args: (dynamo_webhooks.conversion.remainder.Remainder(), honest(*args)[1])
    )


def _restore_without_the_guard(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dynamo_webhooks.conversion.engine, "_restored", lambda kind, parts, kept, saved, rightward, name: applied(parts, kept))


def _lose_the_order_of_lists(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dynamo_webhooks.conversion.services, "_order", lambda services, remembered: sorted(services))


def _change_the_source(patch: pytest.MonkeyPatch) -> None:
    honest = Roles.forward

    def forward(self: Roles, left: dict[str, Any], *rest: Any) -> None:
        honest(self, left, *rest)
        left.pop("subComponentType", None)

    patch.setattr(Roles, "forward", forward)


def _drop_kept_entries(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dynamo_webhooks.conversion.engine, "differences", lambda have, want: [])


def _leave_the_annotation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dynamo_webhooks.conversion.engine, "keys", lambda kind: ())


def _forget_a_role(patch: pytest.MonkeyPatch) -> None:
    """Symmetrical, so the laws alone would not notice."""
    patch.setattr(dynamo_webhooks.conversion.component, "_PHASES", ("decode",))


def _forget_the_other_role(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dynamo_webhooks.conversion.component, "_PHASES", ("prefill",))


def _drop_options_of_mounts(patch: pytest.MonkeyPatch) -> None:
    honest = compose._main

    def main(*args: Any) -> dict[str, Any]:
        made = honest(*args)
        if "volumeMounts" in made:
            made["volumeMounts"] = [{key: mount[key] for key in ("name", "mountPath") if key in mount} for mount in made["volumeMounts"]]
        return made

    patch.setattr(compose, "_main", main)


def _read_integers_as_floats(patch: pytest.MonkeyPatch) -> None:
    honest = dynamo_webhooks.conversion.remainder._object

    def rounded(value: Any) -> Any:
        if type(value) is dict:
            return {key: rounded(below) for key, below in value.items()}
        if type(value) is list:
            return [rounded(item) for item in value]
        return int(float(value)) if type(value) is int else value

    patch.setattr(dynamo_webhooks.conversion.remainder, "_object", lambda text: rounded(honest(text)))


def _drop_damaged_text(patch: pytest.MonkeyPatch) -> None:
    honest = dynamo_webhooks.conversion.remainder.read
    patch.setattr(dynamo_webhooks.conversion.engine, "read", lambda *args: (honest(*args)[0], {}))


MUTANTS: list[Callable[[pytest.MonkeyPatch], None]] = [
    _never_restore,
    _restore_without_the_guard,
    _lose_the_order_of_lists,
    _change_the_source,
    _drop_kept_entries,
    _leave_the_annotation,
    _forget_a_role,
    _forget_the_other_role,
    _drop_options_of_mounts,
    _read_integers_as_floats,
    _drop_damaged_text,
]


@pytest.mark.parametrize("mutate", MUTANTS, ids=[mutant.__name__.strip("_") for mutant in MUTANTS])
def test_mutants_are_noticed(mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    assert _noticed()


def test_nothing_is_noticed_without_a_mutant() -> None:
    """Otherwise the tests above would prove nothing."""
    assert _noticed() == ""


def test_there_are_eleven() -> None:
    assert len(set(MUTANTS)) == 11
