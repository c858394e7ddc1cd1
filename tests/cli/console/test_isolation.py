"""Every offline command works with nothing: no network, no home, no folder to write into, no terminal, no streams.

And the same words give the same bytes, whatever order hashes have: one process a seed runs every offline command over many objects.
"""

import json
import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from dynamo_webhooks.cli.project.keys import FORMATS
from dynamo_webhooks.policies.catalogue import list_declared
from tests.cli.check.alone import COMMAND, FORBIDDING, NUMBERS, run, run_without
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, GOOD, MODEL
from tests.policies.examples import parse

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
    ("review", "{review}"): 0,
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


SEEDS: Final = ("0", "1", "random")
EACH: Final = 9  # of the rules' examples
ALL: Final = """
import json
from dynamo_webhooks.cli.main import main

for words in json.loads(sys.argv[1]):
    print("=", *words, flush=True)
    print("=", *words, file=sys.stderr, flush=True)
    print("= ended with", main(words), flush=True)
"""
FACTS: Final = ("--set-fact", "operatorVersion=1.2.0", "--set-fact", "grove=true")
SAME: Final[list[list[str]]] = [
    *(["check", "new", "--old", "old", "--answer", "-o", form, *FACTS] for form in FORMATS),
    ["check", "new", "--validate=strict", "-v", "--require-facts"],
    ["convert", "new", "--to", "v1beta1", "-v"],
    ["convert", "new", "--to", "v1alpha1"],
    ["convert", "--fields", "DynamoGraphDeployment"],
    *(["default", "new", "-o", form, *FACTS] for form in ("text", "json", "diff", "patch", "yaml")),
    *(["diff", "old", "new", "-o", form, *FACTS] for form in ("text", "json")),
    *(["render", "graph.yaml", "-o", form, *FACTS] for form in ("yaml", "json")),
    *(["rules", "-o", form] for form in ("text", "json")),
    ["explain", "restart-order-unknown", "--examples"],
    ["explain", "spec.services.*.failover", "-o", "json"],
    ["explain", "DynamoGraphDeployment"],
    ["schema", "DynamoGraphDeployment"],
    ["crds"],
    ["config"],
    ["completion", "zsh"],
    ["version"],
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Objects that find many rules, some of them with an older form, and a graph to be rendered."""
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
    blocks = [(rule, block) for rule in list_declared() for block in (*rule.bad, *rule.good)][::EACH]
    for number, (rule, block) in enumerate(blocks):
        example = parse(block, rule.kinds[0], rule.name)
        kind, _, version = example.kind.partition("/")
        review = example.review()
        for place, obj in (("new", review.object), ("old", review.old)):
            if obj:
                named = {
                    **obj,
                    "apiVersion": f"nvidia.com/{version}",
                    "kind": kind,
                    "metadata": {**obj.get("metadata", {}), "name": f"n{number}"},
                }
                (tmp_path / place / f"{number}.yaml").write_text(yaml.safe_dump(named))
    services = {
        f"part-{number}": {"componentType": "worker", "replicas": number, "envs": [{"name": "A", "value": "b"}]} for number in range(7)
    }
    graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g", "namespace": "n"}}
    (tmp_path / "graph.yaml").write_text(yaml.safe_dump({**graph, "spec": {"services": services}}))
    return tmp_path


def test_every_command_prints_the_same_bytes(folder: Path) -> None:
    runs = [run(folder, FORBIDDING + ALL, json.dumps(SAME), PYTHONHASHSEED=seed) for seed in SEEDS]
    assert [done.returncode for done in runs] == [0, 0, 0], runs[0].stderr[-2000:]
    codes = re.findall(r"^= ended with (\d+)$", runs[0].stdout.decode(), re.MULTILINE)
    assert len(codes) == len(SAME)
    wrong = [words for words, code in zip(SAME, codes, strict=True) if code not in ("0", "1", "5")]
    assert wrong == [], runs[0].stderr[-2000:]
    for done in runs[1:]:
        assert done.stdout.splitlines(keepends=True) == runs[0].stdout.splitlines(keepends=True)
        assert done.stderr.splitlines(keepends=True) == runs[0].stderr.splitlines(keepends=True)
