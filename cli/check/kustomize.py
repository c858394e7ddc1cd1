"""The objects that a kustomization renders, as one text; the program that renders is the user's own, and fetches nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check import remote
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.files import LIMIT, decode
from dynamo_webhooks.cli.programs import run
from dynamo_webhooks.cli.yaml.load import InputError, Source

# the first that is there
_PROGRAMS: Final = (("kustomize", "build"), ("kubectl", "kustomize"))
_PATIENCE: Final = 120  # seconds, to read and write local files
# for what `remote` overlooks: git may use no protocol, and HTTP goes to a proxy that is not there
_OFFLINE: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    **{name: "http://127.0.0.1:1" for word in ("http_proxy", "https_proxy") for name in (word, word.upper())},
    "no_proxy": "",
    "NO_PROXY": "",
}
_LONGEST: Final = 500  # characters of what the program says


def command(folder: str) -> tuple[str, ...]:
    """What renders a folder here. Raises: UsageError when no program does, or the folder can't be one."""
    if not folder or folder.startswith("-") or "\0" in folder:
        raise UsageError(f"-k {folder!a}: must be a folder with a kustomization")
    if remote.is_address(folder) and not Path(folder).is_dir():
        raise UsageError(f"-k {remote.shown(folder)}: must be a local folder; nothing is fetched, so clone it first")
    for program in _PROGRAMS:
        if shutil.which(program[0]):
            return (*program, folder)
    raise UsageError("-k needs kustomize or kubectl, and neither can be found")


def rendered(folder: str, words: Sequence[str]) -> Source | InputError:
    """What a folder renders to by a command, named after it, or why there is nothing. Lines are those of the rendered text."""
    name = f"kustomize:{folder}"
    found = remote.first(folder)
    if found is not None:
        text = f"{found.field} must be a local file or folder, got {shortened(found.address, _LONGEST)}; nothing is fetched, so"
        return InputError(f"{text} keep a copy beside it, or render it yourself and check the output", found.file, found.line, found.column)
    try:
        done = run(words, _PATIENCE, environment={**os.environ, **_OFFLINE})  # the folder begins with no hyphen
        if done.returncode:
            return InputError(f"can't be rendered: {_said(done.stderr)}", name)
        if len(done.stdout) > LIMIT:
            return InputError(f"renders to more than {LIMIT // 2**20} MiB", name)
        return Source(name, decode(done.stdout, name))
    except InputError as error:
        return error
    except OSError as error:
        return InputError(f"{words[0]} can't be run: {error.strerror}", name)
    except subprocess.TimeoutExpired:
        return InputError(f"{words[0]} did not finish within {_PATIENCE} seconds", name)


def _said(stderr: bytes) -> str:
    """The complaint: the last line that the program wrote; those before may be warnings."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    logged = re.search(r' err="((?:[^"\\]|\\.)*)"$', lines[-1])  # kubectl writes it into a line of its log
    text = re.sub(r"\\(.)", r"\1", logged[1]) if logged else re.sub("^error: ", "", lines[-1], flags=re.IGNORECASE)
    return shortened(text, _LONGEST)
