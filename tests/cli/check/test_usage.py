"""Wrong usage of `check`: one sentence before anything is read or written, which shows no value."""

import shlex

from tests.cli.conftest import Command, Files
from tests.cli.repository import Repository
from tests.cli.samples import GOOD, MODEL
from tests.rows import run_each

SECRET = "hunter2-hunter2"  # noqa: S105 - nobody's
WRONG = [
    ("--update-baseline a.yaml", "--update-baseline needs --baseline with the file to write"),
    ("--baseline - a.yaml", "--baseline must be a file, and - is standard input"),
    ("--baseline '' a.yaml", '--baseline "": does not exist'),
    ("--baseline no/such/folder --update-baseline a.yaml", "no/such/folder can't be written: its folder does not exist"),
    ("a.yaml --set-fact grve=true", "--set-fact grve=true: must be NAME=VALUE with a known fact; did you mean grove?"),
    ("a.yaml --set-fact grove", "--set-fact grove: must be NAME=VALUE with a known fact; did you mean grove?"),
    ("a.yaml --set-fact grove=1", "--set-fact grove=1: grove: must be true, false or null, got 1"),
    ("a.yaml --set-fact 'grove=['", "--set-fact grove=[: a value is required here"),
    ("a.yaml --facts ''", '--facts "": does not exist'),
    ("a.yaml --facts none.yaml", "--facts none.yaml: does not exist"),
    ("a.yaml --facts wrong.yaml", "--facts wrong.yaml: grove: must be true, false or null, got 'perhaps'"),
    ("a.yaml --facts list.yaml", "--facts list.yaml: must be one mapping of facts"),
    ("a.yaml --op update", "--op update needs --old with the stored objects"),
    ("a.yaml --old none.yaml", "--old none.yaml: does not exist"),
    ("a.yaml --old twice.yaml", "--old holds DynamoModel llm/m twice, at twice.yaml:1 and twice.yaml:6"),
    ("a.yaml --select ingres-host", "--select ingres-host: no rule has this name, code or beginning; did you mean ingress-host-format?"),
    ("a.yaml --files-from none.txt", "--files-from none.txt: does not exist"),
    ("a.yaml --validate lax", "--validate must be one of strict, warn, ignore, got lax"),
    ("--cluster --kubeconfig none.yaml", "--kubeconfig: "),
    ("--context x a.yaml", "--context is for --cluster"),
    ("--cluster --against main", "--against and --cluster both give the stored objects: use one of them"),
    ("--cluster --old a.yaml a.yaml", "--cluster decides which files are updates: leave out --old"),
    ("--cluster --op create a.yaml", "--cluster decides which files are updates: leave out --op create"),
    ("", "name at least one file, folder or glob, - for standard input, or --cluster"),
    ("a.yaml --diff", "--diff shows what --fix or --add-ignores would write: give one of them"),
    ("a.yaml --fix --set A=b", "--fix would write the values of --set and --env-file into the files; leave them out"),
    ("a.yaml --fix -k x", "--fix changes files, and -k checks other inputs; fix the sources"),
    ("a.yaml --fix --cluster", "--fix changes files, and --cluster checks other inputs; fix the sources"),
    ("a.yaml --fix --diff -o json", "--diff prints what --fix would write, and no report: leave out -o"),
    ("a.yaml --fix --diff --answer", "--diff prints what --fix would write, and no report: leave out --answer"),
    ("a.yaml --fix --diff --baseline b --update-baseline", "and no report: leave out --update-baseline"),
    ("a.yaml --add-ignores ' '", "--add-ignores must be followed by a reason on one line"),
    ("a.yaml --add-ignores 'a\nb'", "--add-ignores must be followed by a reason on one line"),
    ("- --add-ignores x", "--add-ignores changes files, and - is none"),
    ("--cluster --add-ignores x", "--add-ignores changes files, and --cluster checks other inputs"),
    ("-k a --add-ignores x", "--add-ignores changes files, and -k checks other inputs"),
    ("a.yaml --fix --add-ignores x", "--fix and --add-ignores both change files"),
    ("a.yaml --add-ignores x --diff -o json", "--diff prints what --add-ignores would write"),
    ("a.yaml --add-ignores x --baseline b --update-baseline", "--add-ignores and --update-baseline both accept"),
    ("--against no-such deploy", "--against no-such: {root} has no such revision"),
    ("--against=--output=x deploy", "--against '--output=x': must be a revision of git, such as main or HEAD~1"),
    ("--against '' deploy", "--against '': must be a revision of git"),
    ("--against main -", "--against main: standard input was in no revision; name the files"),
    ("--against main --old deploy deploy", "--against and --old both name the stored objects: use one of them"),
    ("--against main --op update deploy", "--against decides between update and create: leave out --op update"),
    ("--against main -k deploy", "--against compares files, and what -k renders is none: use --old"),
    ("a.yaml --set hunter2-hunter2", "--set: must be NAME=VALUE"),
    ("a.yaml --set 'A B=hunter2-hunter2'", "--set 'A B': must be NAME=VALUE, with a name of letters, digits and _"),
    ("a.yaml --set 'A=\x07hunter2-hunter2'", "--set A: the value must not contain control characters"),
    ("a.yaml --env-file nowhere", "--env-file nowhere: does not exist"),
    ("a.yaml --env-file x.env", "--env-file x.env:2: must be NAME=VALUE, with a name of letters, digits and _"),
    ("a.yaml --values a.yaml", "--values is for --helm"),
    ("a.yaml --helm=--post-renderer=x", "--helm '--post-renderer=x': must be a local folder with a Chart.yaml"),
    ("a.yaml --helm oci://x", "--helm 'oci://x': must be a local folder with a Chart.yaml"),
    ("a.yaml --helm chart --values https://x/y", "--values 'https://x/y': must be a local file"),
    ("a.yaml --helm chart --values -", "--values '-': must be a local file"),
    ("a.yaml --helm chart --against HEAD", "what --helm renders is none: use --old"),
    ("a.yaml -o json -o text", "-o json and -o text would both be printed; give one a file: -o text=FILE"),
    ("a.yaml -o json -o jsonl=-", "-o json and -o jsonl would both be printed; give one a file: -o jsonl=FILE"),
    ("a.yaml -o sarf", "must be one of text, json, jsonl, sarif, github, junit, gitlab, markdown, html, got 'sarf'; did you mean sarif?"),
    ("a.yaml -o sarif=", "must name a file behind sarif=, or leave the = out to print the report"),
    ("a.yaml -o sarif=nowhere/out", "-o sarif=nowhere/out: its folder does not exist"),
    ("a.yaml -o sarif=.", "-o sarif=.: must be a file, and is a folder"),
    ("a.yaml -o sarif=x -o json=./x", "-o json=./x: another report is written to this file already"),
    ("a.yaml --line 1.6 --upgrade-to 1.5", "--upgrade-to 1.5: must be a later operator release than 1.6, with which files are checked"),
    ("a.yaml --line 1.6 --upgrade-to 1.6", "--upgrade-to 1.6: must be a later operator release than 1.6"),
    ("a.yaml --upgrade-to 1.6 --fix", "--upgrade-to lists findings of later operator releases: leave out --fix"),
    ("a.yaml --upgrade-to 1.9", "must be one of 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, got 1.9"),
]


@run_each(("words", "sentence"), WRONG)
def test_wrong_usage_is_one_sentence(command: Command, files: Files, words: str, sentence: str) -> None:
    folder = files(a=GOOD, wrong="grove: perhaps\n", list="[1]\n", twice=f"{MODEL}---\n{MODEL}", chart__Chart="name: x\n", deploy__g=MODEL)
    (folder / "x.env").write_text(f"A=1\n{SECRET}\n")
    Repository(folder)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    ran = command("check", *shlex.split(words))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("dynamo-webhooks check: ")
    assert sentence.replace("{root}", str(folder)) in ran.err
    assert SECRET not in ran.err
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
