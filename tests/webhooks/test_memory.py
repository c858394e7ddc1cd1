"""How memory is divided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dynamo_webhooks.webhooks.bodies import WITH_ANSWER
from dynamo_webhooks.webhooks.limits import Limits
from dynamo_webhooks.webhooks.memory import BESIDE, DEFAULT, LEAST, MIB, OWN, container_limit, divided, workers_for

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("memory", [1024 * MIB, 2048 * MIB, 64 * 1024 * MIB])
@pytest.mark.parametrize("processors", [1, 2, 7, 96])
def test_all_that_may_be_used_together_fits(memory: int, processors: int) -> None:
    workers = workers_for(memory, processors)
    found = divided(Limits(), memory, workers)
    each = OWN + found.room + found.conversion_room + 3 * found.request_memory
    assert 1 <= workers <= processors
    assert BESIDE + workers * each <= memory
    assert found.room >= found.body
    assert found.conversion_body * WITH_ANSWER <= found.conversion_room


def test_the_manifests_memory_takes_the_documented_list() -> None:
    assert divided(Limits(), DEFAULT, 2).conversion_body // MIB == 93


def test_a_wanted_bound_can_only_be_lower() -> None:
    most = divided(Limits(), DEFAULT, 2).conversion_body
    assert divided(Limits(), DEFAULT, 2, MIB).conversion_body == MIB
    assert divided(Limits(), DEFAULT, 2, 10 * most).conversion_body == most


def test_too_little_memory_serves_with_the_least_share() -> None:
    assert workers_for(64 * MIB, 8) == 1
    found = divided(Limits(), 64 * MIB, 1)
    assert found.room + found.conversion_room + 3 * found.request_memory <= LEAST


@pytest.mark.parametrize(
    ("texts", "limit"),
    [
        (["536870912\n"], 512 * MIB),
        (["max\n"], DEFAULT),
        ([], DEFAULT),
        (["9223372036854771712\n"], DEFAULT),
        (["max\n", "1073741824\n"], 1024 * MIB),
    ],
)
def test_the_containers_limit_is_read(tmp_path: Path, texts: list[str], limit: int) -> None:
    files = [tmp_path / str(number) for number in range(2)]
    for file, text in zip(files, texts, strict=False):
        file.write_text(text)
    assert container_limit(files) == limit
