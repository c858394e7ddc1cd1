"""A value of a wrong type: what is still told of its object would be told if the value were right, whatever it should have been."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

import pytest

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.kinds import BY_NAME, api_version
from dynamo_webhooks.cli.check.reads import words_of
from dynamo_webhooks.cli.check.rest import independent
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.policies.catalogue import by_word, declared
from dynamo_webhooks.policies.rule import Rule
from tests.policies.examples import parse

RULES: Final = [rule for rule in declared() if rule.profile != "1.2" and not rule.is_default]
STRIDE: Final = 5  # of the places; all of them take a minute
WRONG: Final = ([[1]], {"zz": [1]}, 1.5, "zz zz")  # one of them has another type than its place


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place below the root."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in pairs:
        yield (*path, step)
        yield from places(inner, (*path, step))


def writes(rule: Rule, version: str) -> Iterator[Admission]:
    """The Bad examples of a rule as writes of objects in a version, as far as that can say them."""
    for block in rule.bad:
        example = parse(block, rule.kinds[0], rule.name)
        review, kind = example.review(), rule.kinds[0].partition("/")[0]
        if not BY_NAME[kind].has(version) or (version not in rule.kinds[0] and review.old is not None):
            continue
        try:
            data = convert_object(copy.deepcopy(review.object), target(api_version(version)), whole=True).object
        except ConversionError:
            continue
        settings = Settings(review.facts, review.profile)
        yield Admission(kind, version, review.operation, data, copy.deepcopy(review.old), user=review.user, settings=settings)


def again(write: Admission, data: dict[str, Any]) -> Admission:
    return Admission(write.kind, write.version, write.operation, data, write.old, user=write.user, settings=write.settings)


def corrupted(write: Admission, path: tuple[Any, ...]) -> Admission | None:
    """The write with a value of a wrong type at one place, and nothing else that can't be read."""
    for value in WRONG:
        data = copy.deepcopy(write.object)
        holder = data
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value
        made = again(write, data)
        if [tuple(error.path) for error in made.decode()] == [path]:
            return made
    return None


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_nothing_is_told_that_the_right_value_could_mend(version: str) -> None:
    told = tried = 0
    for rule in RULES:
        for write in writes(rule, version):
            if write.decode():
                continue
            write.shape()
            whole = again(write, copy.deepcopy(write.object))
            whole.mutate()
            right = {(finding.rule.name, finding.path, finding.text) for finding in whole.judge()}
            spec = [place for place in places(write.object) if place[0] == "spec"]
            for made in (corrupted(write, place) for place in spec[tried % STRIDE :: STRIDE]):
                if made is None:
                    continue
                tried += 1
                found = independent(made, [error.path for error in made.decode()], schema=True, defaults=True)
                assert found is not None
                assert {(finding.rule.name, finding.path, finding.text) for finding in found} <= right
                told += len(found)
    assert (tried > 100, told > 20) == (True, True), (tried, told)


def test_the_names_that_a_rule_reads_are_those_of_its_helpers_too() -> None:
    rule = by_word("gms-requires-gpu")
    assert {"gpuMemoryService", "resources", "limits", "extraPodSpec", "services"} <= words_of(rule)
    assert "failover" not in words_of(by_word("ingress-host-required"))
