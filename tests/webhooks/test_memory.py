"""How memory is divided."""

import gc
import re
from pathlib import Path

from dynamo_webhooks.webhooks.body_memory import ANSWER_FACTOR
from dynamo_webhooks.webhooks.limits import Limits
from dynamo_webhooks.webhooks.memory import (
    DEFAULT_BYTES,
    FORKER_BYTES,
    MIB,
    MIN_LONG_REQUEST_BYTES,
    WATCHER_BYTES,
    container_limit,
    divide_memory,
    parts,
)
from dynamo_webhooks.webhooks.process import GC_THRESHOLD, settle
from tests.rows import run_each
from tests.webhooks.processes import ROOT


@run_each("memory", [768 * MIB, 1024 * MIB, 64 * 1024 * MIB])
def test_all_parts_together_fit(memory: int) -> None:
    limits = divide_memory(Limits(), memory)
    assert sum(parts(limits).values()) <= memory
    assert min(parts(limits).values()) > 0
    assert limits.room >= limits.body
    assert limits.conversion_body * ANSWER_FACTOR <= limits.conversion_room


def test_a_process_that_is_settled_collects_seldom() -> None:
    """Each collection would copy pages that are shared with forked processes."""
    before = gc.get_threshold()
    try:
        settle()
        assert gc.get_threshold() == GC_THRESHOLD > before
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


@run_each("file", ["base/server.yaml", "chart/values.yaml"])
def test_the_manifests_give_what_is_divided_without_a_limit(file: str) -> None:
    limits = re.findall(r"limits:\s+\{?memory: (\d+)Gi", (ROOT / "manifests" / file).read_text())
    assert int(limits[0]) * 1024 * MIB == DEFAULT_BYTES


def test_the_manifests_memory_takes_the_documented_list() -> None:
    assert divide_memory(Limits(), DEFAULT_BYTES).conversion_body // MIB == 66


def test_a_wanted_bound_can_only_be_lower() -> None:
    most = divide_memory(Limits(), DEFAULT_BYTES).conversion_body
    assert divide_memory(Limits(), DEFAULT_BYTES, MIB).conversion_body == MIB
    assert divide_memory(Limits(), DEFAULT_BYTES, 10 * most).conversion_body == most


def test_too_little_memory_serves_with_the_least_share() -> None:
    shares = parts(divide_memory(Limits(), 64 * MIB))
    assert sum(shares.values()) - shares["server"] - shares["connections"] <= MIN_LONG_REQUEST_BYTES + WATCHER_BYTES + FORKER_BYTES


@run_each(
    ("texts", "limit"),
    [
        (["536870912\n"], 512 * MIB),
        (["max\n"], DEFAULT_BYTES),
        ([], DEFAULT_BYTES),
        (["9223372036854771712\n"], DEFAULT_BYTES),
        (["max\n", "1073741824\n"], 1024 * MIB),
    ],
)
def test_the_containers_limit_is_read(tmp_path: Path, texts: list[str], limit: int) -> None:
    files = [tmp_path / str(number) for number in range(2)]
    for file, text in zip(files, texts, strict=False):
        file.write_text(text)
    assert container_limit(files) == limit
