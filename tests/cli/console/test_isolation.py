"""Every offline command works with nothing: no network, no home, no folder to write into, no terminal, no streams.

And the same words give the same bytes, whatever order hashes have: one process a seed runs every offline command over many objects.
"""

import json
import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from dynamo_webhooks.cli.project.reports import FORMATS
from dynamo_webhooks.policies.catalogue import list_declared
from tests.cli.check.alone import COMMAND, FORBIDDING, NUMBERS, run, run_without
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, GOOD, MODEL
from tests.cli.sizes import by_day_and_night
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
UNWRITABLE: Final = "/proc"  # nobody may write there, whoever runs the tests
# of no light command, and of no check of a file: they take longer to import than most files to check
HEAVY: Final = frozenset(
    ["kubernetes", "aiohttp", "pydantic", "cryptography", "asyncio", "uvloop", "multiprocessing", "difflib", "glob"]
) | {f"dynamo_webhooks.{room}" for room in ("webhooks", "certs")}
LONG: Final = {"orjson", "dataclasses", "logging", "pathlib", "subprocess", "hashlib"}


ALL: Final = """
import json
from dynamo_webhooks.cli.main import main

for words in json.loads(sys.argv[1]):
    print("=", *words, flush=True)
    print("=", *words, file=sys.stderr, flush=True)
    print("= ended with", main(words), flush=True)
"""
ENDED: Final = re.compile(r"^= .*\n((?s:.*?))= ended with (\d+)$", re.MULTILINE)
# as on Windows, which lacks most of these; macOS lacks some
ELSEWHERE: Final = """
import os, shutil, signal, subprocess, sys
lacking = {
    os: "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_PATH fchmod fchown fork geteuid getuid killpg memfd_create pread register_at_fork "
        "sched_getaffinity setsid sysconf",
    signal: "SIGALRM SIGHUP SIGKILL SIGPROF SIGUSR1 pthread_sigmask setitimer",
}
for module, names in lacking.items():
    for name in names.split():
        delattr(module, name)
os.supports_dir_fd.clear()
sys.modules.update(dict.fromkeys(("fcntl", "grp", "mmap", "posix", "pwd", "resource", "syslog", "termios", "tty")))
"""


@pytest.fixture
def places(files: Files) -> dict[str, str]:
    """Where the files are that commands are given."""
    request = {"uid": "u", "desiredAPIVersion": "nvidia.com/v1beta1", "objects": []}
    review = json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
    folder = files(good=GOOD, bad=BAD, raw_review=review)
    return {"good": str(folder / "good.yaml"), "bad": str(folder / "bad.yaml"), "review": str(folder / "raw_review")}


@pytest.mark.parametrize("around", [FORBIDDING, ELSEWHERE], ids=["no rights", "another system"])
def test_a_command_needs_nothing(around: str, places: dict[str, str], command: Command, subtests: pytest.Subtests) -> None:
    """The result is the same as in a process that may do everything."""
    given = [[word.format(**places) for word in words] for words in COMMANDS]
    alone = run(UNWRITABLE, around + ALL, json.dumps(given))
    assert (alone.returncode, alone.stderr.count(b"refused\n")) == (0, 0), alone.stderr
    for words, code, (printed, ended) in zip(given, COMMANDS.values(), ENDED.findall(alone.stdout.decode()), strict=True):
        with subtests.test(words=words):
            free = command(*words)
            assert (free.code, int(ended), free.out) == (code, code, printed)


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


@pytest.mark.parametrize("words", [("--help",), ("check", "good.yaml", "-o", "json"), ("rules",)])
def test_light_commands_import_nothing_heavy_and_the_overview_no_command(files: Files, words: tuple[str, ...]) -> None:
    names = loaded(files(good=GOOD), *words)
    assert names.isdisjoint(HEAVY), names & HEAVY
    commands = [name for name in names if name.startswith("dynamo_webhooks.cli.commands.")]
    assert bool(commands) == (words != ("--help",)), commands


def test_a_file_is_not_written_where_a_link_could_get_in_the_way(places: dict[str, str], tmp_path: Path) -> None:
    done = run(tmp_path, ELSEWHERE + COMMAND.removeprefix(FORBIDDING), "check", "-o", "json=out.json", places["good"])
    assert (done.returncode, (tmp_path / "out.json").exists()) == (2, False)
    assert b"files are written on Linux and macOS only" in done.stderr


SEEDS: Final = ("0", "random")
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
    ["test", "cases", "-o", "json"],
    ["schema", "DynamoGraphDeployment"],
    ["crds"],
    ["config"],
    ["completion", "zsh"],
    ["version"],
]


@pytest.fixture
def folder(tmp_path: Path, apart: int) -> Path:
    """Objects that find many rules, some of them with an older form, and a graph to be rendered."""
    for name in ("new", "old", "cases"):
        (tmp_path / name).mkdir()
    for name, text in (("deny.x", BAD), ("allow.y", BAD), ("convert.z", GOOD)):
        (tmp_path / "cases" / f"{name}.yaml").write_text(text)
    blocks = [(rule, block) for rule in list_declared() for block in (*rule.bad, *rule.good)][::apart]
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


@by_day_and_night("apart", 27, 9)  # of the rules' examples
def test_every_command_prints_the_same_bytes(folder: Path) -> None:
    runs = [run(folder, FORBIDDING + ALL, json.dumps(SAME), PYTHONHASHSEED=seed, SOURCE_DATE_EPOCH="0") for seed in SEEDS]
    assert [done.returncode for done in runs] == [0, 0], runs[0].stderr[-2000:]
    codes = [code for _, code in ENDED.findall(runs[0].stdout.decode())]
    assert len(codes) == len(SAME)
    wrong = [words for words, code in zip(SAME, codes, strict=True) if code not in ("0", "1", "5")]
    assert wrong == [], runs[0].stderr[-2000:]
    for done in runs[1:]:
        assert done.stdout.splitlines(keepends=True) == runs[0].stdout.splitlines(keepends=True)
        assert done.stderr.splitlines(keepends=True) == runs[0].stderr.splitlines(keepends=True)
