"""Commands as processes that have nothing: no network, no home, no folder to write into. What must come of them is each test's business."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

# what nobody may do in that process: open a socket, write a file; nothing is written when the null device is
FORBIDDING: Final = """
import os, sys

def refuse(*_, **__):
    os.write(2, b"refused\\n")
    os._exit(99)

def writes(arguments):
    path, mode, flags = arguments
    written = bool((mode or "").strip("rbtU")) or bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return written and path != os.devnull

CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate", "shutil.", "tempfile.")

def watch(event, arguments):
    if event.startswith(("socket.", *CHANGES)) or (event == "open" and writes(arguments)):
        refuse()

sys.addaudithook(watch)
"""
COMMAND: Final = f"{FORBIDDING}from dynamo_webhooks.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"
# such as a shell's `<&-` and `>&-`
NUMBERS: Final = {"stdin": 0, "stdout": 1, "stderr": 2}


def run(folder: Path | str, script: str, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs a script in a folder, without a home or a place for temporary files."""
    return _run(folder, script, words, environment)


def run_without(stream: str, folder: Path | str, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs the command with one of its three streams closed."""
    return _run(folder, COMMAND, words, environment, lambda: os.close(NUMBERS[stream]))


def _run(
    folder: Path | str, script: str, words: Sequence[str], given: Mapping[str, str], before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[bytes]:
    own = ("HOME", "TMPDIR", "PYTHONHASHSEED", "NO_COLOR", "FORCE_COLOR", "LANG", "LC_ALL", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    inherited = {name: value for name, value in os.environ.items() if name not in own}
    bare = {"HOME": "/nonexistent", "TMPDIR": "/nonexistent", "LC_ALL": "C", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program, environment = [sys.executable, "-B", "-c", script, *words], {**inherited, **bare, **given}
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True}
    return subprocess.run(program, check=False, cwd=folder, env=environment, preexec_fn=before, **streams)
