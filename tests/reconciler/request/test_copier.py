"""The copier: what it reads of files that it doesn't trust, and when it writes."""

import asyncio
import os
from pathlib import Path

import pytest

from dynamo_webhooks.kube.errors import ForbiddenError, UnavailableError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CONFIG_MAPS
from dynamo_webhooks.reconciler.request import copier
from tests.kube.memory import MemoryCluster
from tests.rows import run_each


def _write(folder: Path, status: str, result: str = "kind: x\n", choices: str = "") -> None:
    (folder / "profiler_status.yaml").write_text(status)
    (folder / "final_config.yaml").write_text(result)
    if choices:
        (folder / "webui_data.json").write_text(choices)


def test_progress_and_result_are_what_the_profiler_says(tmp_path: Path) -> None:
    assert copier.gather_output(tmp_path) == {}
    _write(tmp_path, "phase: SweepingDecode\nmessage: half\n")
    assert copier.gather_output(tmp_path) == {"phase": "SweepingDecode", "message": "half"}
    status = "phase: Done\nmessage: ok\nstatus: success\n"
    _write(tmp_path, status, choices="{}")
    assert copier.gather_output(tmp_path) == {
        "phase": "Done",
        "message": "ok",
        "profiler_status": "success",
        "profiler_status.yaml": status,
        "final_config.yaml": "kind: x\n",
        "webui_data.json": "{}",
    }
    _write(tmp_path, "status: failed\nerror: no GPU\n")
    assert copier.gather_output(tmp_path) == {"profiler_status": "failed", "profiler_error": "no GPU"}


@run_each("text", ["", "{{{", "- a", "a: 1\n---\nb: 2", "status: [success]", "\x00", "[" * 5000])
def test_a_status_that_says_nothing_is_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "profiler_status.yaml").write_text(text)
    assert copier.gather_output(tmp_path) == {}


def test_no_link_is_followed_and_no_pipe_is_waited_for(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("secret")
    _write(tmp_path, "status: success\n")
    (tmp_path / "final_config.yaml").unlink()
    (tmp_path / "final_config.yaml").symlink_to(secret)
    os.mkfifo(tmp_path / "webui_data.json")
    output = copier.gather_output(tmp_path)
    assert "final_config.yaml" not in output
    assert "webui_data.json" not in output


def test_choices_are_left_out_where_there_is_no_room_and_a_larger_result_is_a_failure(tmp_path: Path) -> None:
    _write(tmp_path, "status: success\n", "x" * 800_000, "y" * 200_000)
    assert copier.gather_output(tmp_path).keys() == {"profiler_status", "profiler_status.yaml", "final_config.yaml"}
    _write(tmp_path, "status: success\n", "x" * 2_000_000)
    output = copier.gather_output(tmp_path)
    assert output["profiler_status"] == "failed"
    assert output["profiler_error"].startswith("final_config.yaml must be at most 9215")


async def _cluster() -> MemoryCluster:
    cluster = MemoryCluster("copier")
    await cluster.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "out"}}, "demo")
    return cluster


async def _data(cluster: MemoryCluster) -> Node:
    config_map = await cluster.get(CONFIG_MAPS, "out", "demo")
    assert config_map is not None
    return dict(config_map.get("data") or {})


async def test_what_is_new_is_written_and_the_rest_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copier, "LOOK_SECONDS", 0.01)
    cluster, ended, written = await _cluster(), asyncio.Event(), asyncio.Event()

    def watch(verb: str, *_: object) -> None:
        if verb == "merge_patch":
            written.set()

    cluster.fail(watch)
    _write(tmp_path, "phase: SweepingDecode\n")
    running = asyncio.ensure_future(copier.copy(cluster, "demo", "out", tmp_path, ended))
    async with asyncio.timeout(20):
        await written.wait()
    await asyncio.sleep(0.1)
    assert len(cluster.writes) == 2  # the creation, and what was new
    _write(tmp_path, "phase: Done\nstatus: success\n")
    ended.set()
    await running
    assert (await _data(cluster))["final_config.yaml"] == "kind: x\n"


async def test_the_last_write_is_tried_again_and_fails_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copier, "WRITE_PAUSE_SECONDS", 0.0)
    cluster, ended = await _cluster(), asyncio.Event()
    ended.set()
    _write(tmp_path, "status: success\n")
    left = [copier.MAX_WRITE_TRIES - 1]

    def fault(verb: str, *_: object) -> Exception | None:
        left[0] -= verb == "merge_patch"
        return UnavailableError(503, "", "away") if verb == "merge_patch" and left[0] >= 0 else None

    away = cluster.fail(fault)
    await copier.copy(cluster, "demo", "out", tmp_path, ended)
    assert (await _data(cluster))["profiler_status"] == "success"
    away()
    cluster.denied.add(("patch", "configmaps"))
    with pytest.raises(ForbiddenError):
        await copier.copy(cluster, "demo", "out", tmp_path, ended)
