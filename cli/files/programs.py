"""Runs programs of the user, such as git and kustomize, with limits of time and output, and leaves nothing of them behind.

Nothing is fetched: resources of kustomizations that are addresses instead of local files are looked for beforehand.
"""

# ruff: noqa: PTH112, PTH113, PTH118, PTH120 - pathlib raises for a name that is too long, and drops the author's ./

import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Final

from ...api.paths import Path, format_path
from ...api.wording import shorten
from ..console.exits import UsageError
from ..yaml.load import Document, InputError, Source, read_text
from .read import MAX_FILE_BYTES, decode, load_text

MAX_OUTPUT_CHARACTERS: Final = 500  # of the program
_PROGRAM_TIMEOUT_SECONDS: Final = 120  # to read and write local files
# git may use no protocol, and HTTP goes to a proxy that is not there
_OFFLINE: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    **{name: "http://127.0.0.1:1" for word in ("http_proxy", "https_proxy") for name in (word, word.upper())},
    "no_proxy": "",
    "NO_PROXY": "",
}


class _TooMuchError(Exception):
    """A program printed more than its caller takes."""


def run_program(
    words: Sequence[str], patience: float, *, input_data: bytes = b"", environment: Mapping[str, str] | None = None, most: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs a program in its own session, without a terminal; with `most` its standard input is empty.

    Its process group is killed if it takes longer than `patience` seconds, prints more than `most` bytes on a stream, or if this process is
    interrupted. Raises: OSError if it can't be started, subprocess.TimeoutExpired, _TooMuchError.
    """
    # no shell; the caller vouches for the words
    with subprocess.Popen(  # noqa: S603
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environment
    ) as process:
        try:
            out, err = process.communicate(input_data, timeout=patience) if most is None else _bounded(process, patience, most)
        except BaseException:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so that the group is this one still
            else:
                process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def _bounded(process: subprocess.Popen[bytes], patience: float, most: int) -> tuple[bytes, bytes]:
    """Both streams to their ends; never holds more than `most` bytes of one."""
    deadline = time.monotonic() + patience
    streams: list[IO[bytes]] = [stream for stream in (process.stdout, process.stderr) if stream is not None]
    printed = {stream.fileno(): bytearray() for stream in streams}
    if process.stdin is not None:
        process.stdin.close()
    with selectors.DefaultSelector() as waiting:
        for number in printed:
            waiting.register(number, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired(process.args, patience)
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                printed[key.fd] += data
                if not data:
                    waiting.unregister(key.fd)
                elif len(printed[key.fd]) > most:
                    raise _TooMuchError
    process.wait(max(0.0, deadline - time.monotonic()))
    out, err = (bytes(text) for text in printed.values())
    return out, err


def run_renderer(words: Sequence[str], name: str) -> Source | InputError:
    """Run a command without a shell, and return its output under a name, or the reason why there is none."""
    try:
        done = run_program(words, _PROGRAM_TIMEOUT_SECONDS, environment={**os.environ, **_OFFLINE}, most=MAX_FILE_BYTES)
        if done.returncode:
            return InputError(f"can't be rendered: {_first_line(done.stderr)}", name)
        return Source(name, decode(done.stdout, name))
    except InputError as error:
        return error
    except _TooMuchError:
        return InputError(f"renders to more than {MAX_FILE_BYTES // 2**20} MiB", name)
    except OSError as error:
        return InputError(f"{words[0]} can't be run: {error.strerror}", name)
    except subprocess.TimeoutExpired:
        return InputError(f"{words[0]} did not finish within {_PROGRAM_TIMEOUT_SECONDS} seconds", name)


def _first_line(stderr: bytes) -> str:
    """The complaint: the last line that the program wrote; those before may be warnings."""
    output = stderr.decode("utf-8", "replace")
    if block := re.search(r" err=<\n(.*)\n >\s*\Z", output, re.DOTALL):  # kubectl writes several lines so
        return shorten(" ".join(block[1].split()), MAX_OUTPUT_CHARACTERS)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    logged = re.search(r' err="((?:[^"\\]|\\.)*)"$', lines[-1])  # kubectl writes it into a line of its log
    text = re.sub(r"\\(.)", r"\1", logged[1]) if logged else re.sub("^error: ", "", lines[-1], flags=re.IGNORECASE)
    return shorten(text, MAX_OUTPUT_CHARACTERS)


_PROGRAMS: Final = (("kustomize", "build"), ("kubectl", "kustomize"))  # the first that is there
_FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_CONFIGURED: Final = frozenset({"generators", "transformers", "validators"})
_INCLUDED: Final = _CONFIGURED | {"resources", "bases", "components"}
# fields that name files or folders, in kustomizations and in configurations of generators and transformers; in any case, as for kustomize
_LOADED: Final = _INCLUDED | {"crds", "configurations", "path", "paths", "files", "env", "envs", "patchesstrategicmerge"}
# what kustomize takes for the address of a file, or of a repository: with a scheme or a user, or at a host that it knows
_ADDRESS: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://|git::|gh:|[\w.-]+@[\w.-]+[:/]|(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)[:/]|[^\n]*(?:\.git(?:[/?]|$)|/_git/|\?ref=)",
    re.IGNORECASE,
)


def find_kustomization_command(folder: str) -> tuple[str, ...]:
    """The command that renders a folder. Raises: UsageError when no program does, or the folder can't be one."""
    if not folder or folder.startswith("-") or "\0" in folder:
        raise UsageError(f"-k {folder!a}: must be a folder with a kustomization")
    if _is_address(folder) and not os.path.isdir(folder):
        raise UsageError(f"-k {_without_password(folder)}: must be a local folder; nothing is fetched, so clone it first")
    for program in _PROGRAMS:
        if shutil.which(program[0]):
            return (*program, folder)
    raise UsageError("-k needs kustomize or kubectl, and neither can be found")


def render_kustomization(folder: str, words: Sequence[str]) -> Source | InputError:
    """Render a folder by a command, named after it; returns the reason where there is no output. Lines are those of the rendered text.

    What can't be read here, such as a file with a duplicate key, is an error, though kustomize might accept it.
    """
    try:
        _refuse_remote(folder, set(), configures=False)
    except InputError as error:
        return error
    return run_renderer(words, f"kustomize:{folder}")  # the folder begins with no hyphen


def _is_address(text: str) -> bool:
    """Whether kustomize would fetch this instead of reading a file."""
    return "\n" not in text and bool(_ADDRESS.match(text))


def _without_password(address: str) -> str:
    """An address for people: without a user and password."""
    return re.sub(r"(?<=//)[^/@\s]*@", "", address)


def _refuse_remote(folder: str, visited: set[tuple[str, bool]], *, configures: bool) -> None:
    """Raises: InputError for the first resource of a kustomization, and of all that it includes, that is remote or can't be read.

    `configures`: what the folder's kustomization names are generators and transformers, whose own fields may name files.
    """
    real = (os.path.realpath(folder), configures)
    if real in visited:
        return
    visited.add(real)
    for name in _FILES:
        file = os.path.join(folder, name)
        if os.path.isfile(file):
            _refuse_in_file(file, visited, configures=configures)


def _refuse_in_file(file: str, visited: set[tuple[str, bool]], *, configures: bool) -> None:
    """Refuse addresses that a kustomization, or the configuration of a generator, names."""
    for document in read_text(Source(file, load_text(file))):
        if isinstance(document, InputError):
            raise document
        for field, value in _named(document.data, (), loaded=False):
            _refuse_fetched(document, field, value)
            beside, top = _beside(file, value), _folded(field[0])
            configured = configures or top in _CONFIGURED
            if os.path.isdir(beside):
                _refuse_remote(beside, visited, configures=configured)
            elif configured and top in _INCLUDED and os.path.isfile(beside) and (beside, True) not in visited:
                visited.add((beside, True))
                _refuse_in_file(beside, visited, configures=True)
        for field, value in _inline(document):
            _refuse_fetched(document, field, value)


def _refuse_fetched(document: Document, field: Path, value: str) -> None:
    file = document.source.name
    if _is_address(value) and ("://" in value or not os.path.isfile(_beside(file, value))):
        line, column, _ = document.value_position(field)
        got = shorten(_without_password(value), MAX_OUTPUT_CHARACTERS)
        text = f"{format_path(field)} must be a local file or folder, got {got}; nothing is fetched, so"
        raise InputError(f"{text} keep a copy beside it, or render it yourself and check the output", file, line, column)


def _inline(document: Document) -> Iterator[tuple[Path, str]]:
    """References in configurations of generators that a kustomization holds as texts. Raises: InputError for one that can't be read."""
    data, file = document.data, document.source.name
    for name in [name for name in data if _folded(name) in _CONFIGURED] if isinstance(data, dict) else ():
        texts = data[name] if isinstance(data[name], list) else []
        for index, text in enumerate(texts):
            for configuration in read_text(Source(file, text)) if isinstance(text, str) else ():
                if isinstance(configuration, InputError):
                    if not {*"\n:{"}.intersection(text):  # the odd name of a file
                        continue
                    line, column, _ = document.value_position((name, index))
                    raise InputError(f"{format_path((name, index))}: {configuration.text}", file, line, column)
                yield from (((name, index, *field), value) for field, value in _named(configuration.data, (), loaded=False))


def _beside(file: str, value: str) -> str:
    return os.path.join(os.path.dirname(file), value)


def _named(data: Any, at: Path, *, loaded: bool) -> Iterator[tuple[Path, str]]:
    """Every text below a field that names files, with its path; a generator's file may be written as KEY=FILE."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _named(value, (*at, key), loaded=_folded(key) in _LOADED)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _named(value, (*at, index), loaded=loaded)
    elif loaded and isinstance(data, str) and "\n" not in data:
        key, equals, file = data.partition("=")
        yield at, file if equals and len(at) > 1 and _folded(at[-2]) == "files" and "/" not in key else data


def _folded(step: str | int) -> str:
    return str(step).casefold()
