"""The program beside a profiler: writes what it says and finds into the request's ConfigMap. Run in the profiling Job's pod.

It reads files of a program that it doesn't trust: no links are followed, nothing is read beyond what a ConfigMap holds.
"""

import asyncio
import contextlib
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Final

from ...kube.client import connect
from ...kube.errors import ApiError
from ...kube.protocol import Cluster
from ...kube.resources import CONFIG_MAPS
from .documents import UnreadableError, read_documents
from .names import COPIER, PARETO, RESULT, STATUS

LOOK_SECONDS: Final = 10.0  # between two looks
MAX_WRITTEN_BYTES: Final = 900 * 1024  # a ConfigMap holds 1 MiB
MAX_STATUS_BYTES: Final = 64 * 1024  # bytes of the status file
MAX_WRITE_TRIES: Final = 5  # of the last write
WRITE_PAUSE_SECONDS: Final = 1.0


def read(file: Path, most: int) -> str:
    """The text of a plain file; empty when it isn't there, or is no such file. Raises: ValueError for one that is larger."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with open(handle, "rb") as stream:  # noqa: PTH123 - it has been opened, without following a link
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        data = stream.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{file.name} must be at most {most} bytes")
    return data.decode(errors="replace")


def gather_output(folder: Path) -> dict[str, str]:
    """What is to be written now: where the profiler is, and its result once it has ended."""
    text = read(folder / STATUS, MAX_STATUS_BYTES)
    try:
        [document] = read_documents(text) or [{}]
    except (UnreadableError, ValueError):
        document = {}
    status = {name: str(value)[:2000] for name, value in document.items() if value is not None} if isinstance(document, dict) else {}
    out = {name: status[name] for name in ("phase", "message") if status.get(name)}
    if status.get("status") == "failed":
        return {**out, "profiler_status": "failed", "profiler_error": status.get("error") or status.get("message") or ""}
    if status.get("status") != "success":
        return out
    try:
        return {**out, "profiler_status": "success", STATUS: text, **_result(folder, len(text.encode()))}
    except ValueError as error:
        return {**out, "profiler_status": "failed", "profiler_error": str(error)}


def _result(folder: Path, used: int) -> dict[str, str]:
    """The result, with the configurations to choose from if there is room for them. Raises: ValueError."""
    result = read(folder / RESULT, MAX_WRITTEN_BYTES - used)
    out = {RESULT: result} if result else {}
    try:
        choices = read(folder / PARETO, MAX_WRITTEN_BYTES - used - len(result.encode()))
    except ValueError:
        choices = ""
    return {**out, **({PARETO: choices} if choices else {})}


async def copy(cluster: Cluster, namespace: str, name: str, folder: Path, ended: asyncio.Event) -> None:
    """Writes whatever is new until the profiler has ended, and then a last time. Raises: ApiError when that last write fails."""
    before: dict[str, str] = {}
    while not ended.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), LOOK_SECONDS)
            break
        now = gather_output(folder)
        try:
            await _put(cluster, namespace, name, now, before)
            before = now
        except ApiError as error:
            sys.stderr.write(f"the result can't be written: {error.message}\n")
    for left in reversed(range(MAX_WRITE_TRIES)):
        try:
            await _put(cluster, namespace, name, gather_output(folder), before)
        except ApiError:
            if not left:
                raise
            await asyncio.sleep(WRITE_PAUSE_SECONDS)
        else:
            return


async def _put(cluster: Cluster, namespace: str, name: str, now: dict[str, str], before: dict[str, str]) -> None:
    if now != before:
        await cluster.merge_patch(CONFIG_MAPS, name, {"data": now}, namespace)


async def main(arguments: list[str]) -> None:
    """Runs until it is told that the profiler has ended: `NAMESPACE CONFIGMAP FOLDER`."""
    namespace, name, folder = arguments
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    cluster = await connect(COPIER, patience=5.0)
    try:
        await copy(cluster, namespace, name, Path(folder), ended)
    finally:
        await cluster.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
