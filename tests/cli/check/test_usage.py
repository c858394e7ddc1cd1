"""Wrong usage of `check`: one sentence before anything is read or written, which shows no value."""

import shlex

from tests.cli.conftest import Command, Files
from tests.cli.repository import Repository
from tests.cli.samples import GOOD, MODEL
from tests.rows import run_each

WRONG = [
    ("--update-baseline a.yaml", "--update-baseline needs --baseline with the file to write"),
    ("--baseline - a.yaml", "--baseline must be a file, and - is standard input"),
    ("--baseline '' a.yaml", '--baseline "": does not exist'),
    ("--baseline no/such/folder --update-baseline a.yaml", "no/such/folder can't be written: its folder does not exist"),
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
    ("a.yaml --diff", "--diff shows what --fix would write: give both"),
    ("a.yaml --fix -k x", "--fix changes files, and -k checks other inputs; fix the sources"),
    ("a.yaml --fix --cluster", "--fix changes files, and --cluster checks other inputs; fix the sources"),
    ("a.yaml --fix --diff -o json", "--diff prints what --fix would write, and no report: leave out -o"),
    ("a.yaml --fix --diff --answer", "--diff prints what --fix would write, and no report: leave out --answer"),
    ("a.yaml --fix --diff --baseline b --update-baseline", "and no report: leave out --update-baseline"),
    ("--against no-such deploy", "--against no-such: {root} has no such revision"),
    ("--against=--output=x deploy", "--against '--output=x': must be a revision of git, such as main or HEAD~1"),
    ("--against '' deploy", "--against '': must be a revision of git"),
    ("--against main -", "--against main: standard input was in no revision; name the files"),
    ("--against main --old deploy deploy", "--against and --old both name the stored objects: use one of them"),
    ("--against main --op update deploy", "--against decides between update and create: leave out --op update"),
    ("--against main -k deploy", "--against compares files, and what -k renders is none: use --old"),
    ("a.yaml -o json -o text", "-o json and -o text would both be printed; give one a file: -o text=FILE"),
    ("a.yaml -o json -o jsonl=-", "-o json and -o jsonl would both be printed; give one a file: -o jsonl=FILE"),
    ("a.yaml -o sarf", "must be one of text, json, jsonl, sarif, github, junit, gitlab, markdown, got 'sarf'; did you mean sarif?"),
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
    folder = files(a=GOOD, wrong="grove: perhaps\n", list="[1]\n", twice=f"{MODEL}---\n{MODEL}", deploy__g=MODEL)
    Repository(folder)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    ran = command("check", *shlex.split(words))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("dynamo-webhooks check: ")
    assert sentence.replace("{root}", str(folder)) in ran.err
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
