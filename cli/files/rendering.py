"""Runs a program that renders templates, with limits of time and output, and returns its output as one text."""

import os
import re
import subprocess
from collections.abc import Sequence
from typing import Final

from ...api.wording import shorten
from ..yaml.load import InputError, Source
from .programs import TooMuchError, run
from .read import LIMIT, decode

LONGEST: Final = 500  # characters of what the program says
_PATIENCE: Final = 120  # seconds, to read and write local files
# git may use no protocol, and HTTP goes to a proxy that is not there
_OFFLINE: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    **{name: "http://127.0.0.1:1" for word in ("http_proxy", "https_proxy") for name in (word, word.upper())},
    "no_proxy": "",
    "NO_PROXY": "",
}


def render(words: Sequence[str], name: str) -> Source | InputError:
    """What a command prints, under a name, or why there is nothing. No shell reads the words."""
    try:
        done = run(words, _PATIENCE, environment={**os.environ, **_OFFLINE}, most=LIMIT)
        if done.returncode:
            return InputError(f"can't be rendered: {_said(done.stderr)}", name)
        return Source(name, decode(done.stdout, name))
    except InputError as error:
        return error
    except TooMuchError:
        return InputError(f"renders to more than {LIMIT // 2**20} MiB", name)
    except OSError as error:
        return InputError(f"{words[0]} can't be run: {error.strerror}", name)
    except subprocess.TimeoutExpired:
        return InputError(f"{words[0]} did not finish within {_PATIENCE} seconds", name)


def _said(stderr: bytes) -> str:
    """The complaint: the last line that the program wrote; those before may be warnings."""
    said = stderr.decode("utf-8", "replace")
    if block := re.search(r" err=<\n(.*)\n >\s*\Z", said, re.DOTALL):  # kubectl writes several lines so
        return shorten(" ".join(block[1].split()), LONGEST)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    logged = re.search(r' err="((?:[^"\\]|\\.)*)"$', lines[-1])  # kubectl writes it into a line of its log
    text = re.sub(r"\\(.)", r"\1", logged[1]) if logged else re.sub("^error: ", "", lines[-1], flags=re.IGNORECASE)
    return shorten(text, LONGEST)
