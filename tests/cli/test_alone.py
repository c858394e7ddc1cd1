"""`check` as a process that has nothing: no network, no home to write into, no order of hashes to rely on; and what it imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.alone import COMMAND, FORBIDDING, run
from tests.cli.conftest import Files
from tests.cli.objects import BAD, GOOD, MODEL, WARNED

# never wanted by a check of a file: they take longer to import than most files to check
HEAVY = (
    "kubernetes",
    "aiohttp",
    "pydantic",
    "cryptography",
    "asyncio",
    "orjson",
    "dataclasses",
    "logging",
    "pathlib",
    "subprocess",
    "hashlib",
)


@pytest.fixture
def folder(files: Files) -> Path:
    """Objects that are right and wrong in several ways."""
    return files(good=GOOD, bad=BAD, warned=WARNED, model=MODEL, broken="a: [\n")


@pytest.mark.parametrize("words", [(".",), (".", "-o", "json"), (".", "-q", "--answer"), ("good.yaml",)])
def test_it_needs_neither_network_nor_a_home_nor_an_order_of_hashes(folder: Path, words: tuple[str, ...]) -> None:
    runs = [run(folder, COMMAND, "check", *words, PYTHONHASHSEED=seed) for seed in ("0", "4711")]
    assert (runs[0].returncode, runs[0].stdout, runs[0].stderr) == (runs[1].returncode, runs[1].stdout, runs[1].stderr)
    assert runs[0].returncode == (0 if words == ("good.yaml",) else 4), runs[0].stderr
    assert b"refused" not in runs[0].stderr
    assert sorted(file.name for file in folder.iterdir()) == ["bad.yaml", "broken.yaml", "good.yaml", "model.yaml", "warned.yaml"]


@pytest.mark.parametrize("attempt", ["import socket as s; s.create_connection(('127.0.0.1', 1))", "open('new', 'w')", "open('new', 'xb')"])
def test_what_is_forbidden_there_is_noticed(folder: Path, attempt: str) -> None:
    assert run(folder, f"{FORBIDDING}{attempt}\n").returncode == 99


@pytest.mark.parametrize("file", ["good.yaml", "model.yaml", "bad.yaml"])
def test_a_check_of_one_file_imports_little(folder: Path, file: str) -> None:
    # what the interpreter's own start loads differs between installations
    script = (
        "import sys\nbefore = set(sys.modules)\nfrom dynamo_webhooks.cli.main import main\nmain(['check', sys.argv[1]])\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr)\n"
    )
    done = run(folder, script, file)
    loaded = set(done.stderr.decode().split())
    assert "dynamo_webhooks.cli.check.pipeline" in loaded
    assert loaded.isdisjoint(HEAVY), loaded.intersection(HEAVY)
    rules = [name for name in loaded if name.startswith("dynamo_webhooks.policies.") and name.count(".") == 3]
    assert len(rules) < 40, rules
