"""Every offline command works with nothing: no network, no home, no folder to write into, no terminal, no streams."""

import json
from pathlib import Path
from typing import Final

import pytest

from tests.cli.check.alone import COMMAND, FORBIDDING, NUMBERS, run, run_without
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, GOOD, MODEL

# words with the folder's files in braces -> exit code
COMMANDS: Final[dict[tuple[str, ...], int]] = {
    ("check", "{good}", "{bad}", "--answer"): 1,
    ("check", "{good}", "-o", "junit"): 0,
    ("convert", "{good}", "--to", "v1beta1"): 0,
    ("default", "{good}", "-o", "diff"): 0,
    ("diff", "{good}", "{bad}"): 1,
    ("render", "{good}"): 0,
    ("explain", BAD_RULE, "--examples"): 0,
    ("rules", "-o", "json"): 0,
    ("review", "{review}", "--explain"): 0,
    ("schema", "DynamoModel"): 0,
    ("crds", "--kind", "DynamoModel"): 0,
    ("config",): 0,
    ("completion", "bash"): 0,
    ("version",): 0,
}
NAMES: Final = [" ".join(words) for words in COMMANDS]
UNWRITABLE: Final = "/proc"  # nobody may write there, whoever runs the tests
# of no light command, and of no check of a file: they take longer to import than most files to check
HEAVY: Final = frozenset(
    ["kubernetes", "aiohttp", "pydantic", "cryptography", "asyncio", "uvloop", "multiprocessing", "difflib", "glob"]
) | {f"dynamo_webhooks.{room}" for room in ("webhooks", "certs")}
LONG: Final = {"orjson", "dataclasses", "logging", "pathlib", "subprocess", "hashlib"}


@pytest.fixture
def places(files: Files) -> dict[str, str]:
    """Where the files are that commands are given."""
    request = {"uid": "u", "desiredAPIVersion": "nvidia.com/v1beta1", "objects": []}
    review = json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
    folder = files(good=GOOD, bad=BAD, raw_review=review)
    return {"good": str(folder / "good.yaml"), "bad": str(folder / "bad.yaml"), "review": str(folder / "raw_review")}


@pytest.mark.parametrize(("words", "code"), COMMANDS.items(), ids=NAMES)
def test_a_command_needs_nothing(places: dict[str, str], command: Command, words: tuple[str, ...], code: int) -> None:
    """The result is the same as in a process that may do everything."""
    given = [word.format(**places) for word in words]
    alone = run(UNWRITABLE, COMMAND, *given)
    assert (alone.returncode, alone.stderr.count(b"refused\n")) == (code, 0), alone.stderr
    free = command(*given)
    assert (free.code, free.out.encode()) == (code, alone.stdout)


@pytest.mark.parametrize("attempt", ["import socket as s; s.create_connection(('127.0.0.1', 1))", "open('new', 'xb')", "os.mkdir('new')"])
def test_what_is_forbidden_there_is_noticed(tmp_path: Path, attempt: str) -> None:
    assert run(tmp_path, f"{FORBIDDING}{attempt}\n").returncode == 99
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code"), [(("check", "{good}", "{bad}"), 1), (("review", "{review}"), 0), (("--help",), 0), (("check", "-"), 3)]
)
def test_a_closed_stream_changes_no_verdict(places: dict[str, str], words: tuple[str, ...], code: int) -> None:
    """Whoever closes a stream doesn't want it; the others say what they always say."""
    given = [word.format(**places) for word in words]
    whole = run(UNWRITABLE, COMMAND, *given)
    assert whole.returncode == code
    for stream in NUMBERS:
        part = run_without(stream, UNWRITABLE, *given)
        assert part.returncode == code, part.stderr
        assert part.stdout == (b"" if stream == "stdout" else whole.stdout)
        assert part.stderr == (b"" if stream == "stderr" else whole.stderr)


def test_a_full_disk_is_one_sentence() -> None:
    full = "import os, sys\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)\n"
    full += "from dynamo_webhooks.cli.main import main\nsys.exit(main(['crds']))\n"
    done = run(UNWRITABLE, full)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"dynamo-webhooks crds: standard output can't be written: No space left on device\n"


def loaded(folder: Path, *words: str) -> set[str]:
    """The modules that a command imports; what the interpreter's own start loads differs between installations."""
    script = (
        "import sys\nbefore = set(sys.modules)\nfrom dynamo_webhooks.cli.main import main\nmain(sys.argv[1:])\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr)\n"
    )
    names = run(folder, script, *words).stderr.decode().splitlines()[-1].split()
    assert "dynamo_webhooks.cli.main" in names
    return set(names)


@pytest.mark.parametrize("text", [GOOD, MODEL, BAD], ids=["good", "model", "bad"])
def test_a_check_of_one_file_imports_little(files: Files, text: str) -> None:
    names = loaded(files(object=text), "check", "object.yaml")
    assert names.isdisjoint(HEAVY | LONG), names & (HEAVY | LONG)
    rules = [name for name in names if name.startswith("dynamo_webhooks.policies.") and name.count(".") == 3]
    assert len(rules) < 40, rules


@pytest.mark.parametrize("words", [("--help",), ("check", "good.yaml", "-o", "json"), ("rules",)])
def test_light_commands_import_nothing_heavy_and_the_overview_no_command(files: Files, words: tuple[str, ...]) -> None:
    names = loaded(files(good=GOOD), *words)
    assert names.isdisjoint(HEAVY), names & HEAVY
    commands = [name for name in names if name.startswith("dynamo_webhooks.cli.commands.")]
    assert bool(commands) == (words != ("--help",)), commands
