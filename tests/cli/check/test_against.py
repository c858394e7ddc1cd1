"""`check --against`: the same object in a revision of git is the stored one, wherever it was, so that rules on updates run in CI."""

import os
import subprocess
from pathlib import Path

import pytest

from dynamo_webhooks.cli.files import revision
from tests.cli.conftest import Command, Files, Ran, write_program
from tests.cli.repository import Repository
from tests.cli.samples import BAD, BAD_RULE, GOOD, graph, manifest
from tests.webhooks.test_processes import eventually, proc_only

BEFORE = manifest("DynamoGraphDeployment", "v1alpha1", "\n  backendFramework: vllm\n  services: {w: {componentType: worker}}")
AFTER = BEFORE.replace("vllm", "sglang")
RULE = "dgd-backend-immutable"
BETA = graph("name: w, type: worker", more="  backendFramework: sglang\n")


@pytest.fixture
def repository(tmp_path: Path, files: Files) -> Repository:
    """A repository whose only commit has one graph."""
    files(deploy__g=BEFORE)
    made = Repository(tmp_path)
    made.commit()
    return made


def _found(ran: Ran) -> list[str]:
    return [finding["rule"] for finding in ran.json["findings"] if finding["level"] == "error"]


def _check(command: Command, *words: str) -> Ran:
    return command("check", "--line", "1.2", "-o", "json", "--against", "main", *words)


def test_what_stays_when_the_version_changes_is_named(command: Command, files: Files, repository: Repository) -> None:
    files(deploy__g=BEFORE.replace("services:", "pvcs: [{name: cache, create: false}]\n  services:"))
    repository.commit()
    files(deploy__g=BETA.replace("sglang", "vllm"))
    [finding] = _check(command, "deploy").json["findings"]
    assert (finding["rule"], finding["level"], finding["path"]) == ("stays-after-move", "warning", "spec.pvcs")
    files(deploy__g=BEFORE.replace("services:", "pvcs: [{name: cache, create: false}]\n  services:"))
    assert command("convert", "--to", "v1beta1", "--write", "deploy").code == 0
    assert _check(command, "deploy").json["findings"] == []


@pytest.mark.parametrize(
    ("left", "new", "paths", "rules"),
    [
        (GOOD, f"{GOOD.replace('good', 'third')}---\n{AFTER}", "deploy/new.yaml", [RULE]),  # it has left a file that is still there
        ("a: [\n", AFTER, "deploy/new.yaml", []),  # what can't be read has not left it
        (BEFORE, AFTER, ".", []),  # a copy is no move
        (BETA, GOOD, "deploy", [RULE]),  # another version is the same object
    ],
)
def test_what_is_a_move(command: Command, files: Files, repository: Repository, left: str, new: str, paths: str, rules: list[str]) -> None:
    files(deploy__g=left, deploy__new=new)
    assert _found(_check(command, paths)) == rules


def test_each_of_two_copies_has_its_own_past(command: Command, files: Files, repository: Repository) -> None:
    files(overlay__g=AFTER)
    repository.commit()
    files(overlay__g=BEFORE)
    findings = _check(command, ".").json["findings"]
    assert [(finding["file"], finding["rule"]) for finding in findings if finding["level"] == "error"] == [("overlay/g.yaml", RULE)]
    files(deploy__g=f"# first\n{BEFORE}---\n{BEFORE}")
    repository.commit()
    files(deploy__g=AFTER)
    assert _found(_check(command, "deploy")) == [RULE], "two equal pasts are one"


def test_an_object_with_two_different_pasts_is_judged_alone(command: Command, files: Files, repository: Repository) -> None:
    files(overlay__g=AFTER)
    repository.commit()
    for folder in ("deploy", "overlay"):
        (repository.folder / folder / "g.yaml").unlink()
    files(one=AFTER)
    ran = _check(command, ".")
    assert (ran.code, _found(ran)) == (0, [])
    [note] = ran.json["notEvaluated"]
    assert note["rule"] == "updates"
    assert note["reason"] == "main holds 2 different objects of this name, at main:deploy/g.yaml:1 and main:overlay/g.yaml:1"
    assert _check(command, ".", "--require-facts").code == 5


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("a: [\n", "main:deploy/g.yaml:2:1: a value is required here, so its past is not known"),
        (b"\xff\xfe", "main:deploy/g.yaml: must be UTF-8, is UTF-16, so its past is not known"),
        (BEFORE.replace("{w: {componentType: worker}}", "[1]"), "main:deploy/g.yaml:6:3: the old object can't be read: "),
    ],
)
def test_a_past_that_cannot_be_read_is_said_and_stops_nothing(
    command: Command, files: Files, repository: Repository, before: str | bytes, reason: str
) -> None:
    files(deploy__g=before)
    repository.commit()
    files(deploy__g=BAD.replace("bad", "g"))
    ran = _check(command, "deploy")
    assert (ran.code, _found(ran)) == (1, [BAD_RULE])
    assert next(note["reason"] for note in ran.json["notEvaluated"]).startswith(reason)


def test_a_past_is_found_below_the_root_and_through_a_link(
    command: Command, files: Files, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(deploy__g=AFTER)
    (repository.folder / "link").symlink_to("deploy")
    assert _found(_check(command, "link")) == [RULE]
    monkeypatch.chdir(repository.folder / "deploy")
    assert _found(_check(command, ".")) == [RULE]
    assert _found(_check(command, "../deploy/g.yaml")) == [RULE]
    monkeypatch.chdir("/")
    assert _found(_check(command, str(repository.folder))) == [RULE]


def test_a_hook_names_its_own_repository_and_index(
    command: Command, files: Files, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(deploy__g=AFTER)
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    monkeypatch.chdir(repository.folder / "deploy")
    assert _found(_check(command, "g.yaml")) == [RULE]


def test_a_linked_work_tree_is_a_repository(
    command: Command, files: Files, repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("linked") / "tree"
    repository("worktree", "add", "-q", "-b", "other", str(place))
    (place / "deploy" / "g.yaml").write_text(AFTER)
    assert _found(_check(command, str(place / "deploy"))) == [RULE]


def test_odd_names_are_names(command: Command, files: Files, repository: Repository) -> None:
    odd = os.fsdecode(b"deploy/a\nb\xff \xc3\xa9.yaml")
    Path(odd).write_text(BEFORE.replace("name: g", "name: h"))
    repository.commit()
    Path(odd).write_text(AFTER.replace("name: g", "name: h"))
    assert _found(_check(command, "deploy")) == [RULE]
    Path(odd).rename(os.fsdecode(b"deploy/\xfe.yaml"))
    assert _found(_check(command, "deploy")) == [RULE]


def test_a_shallow_clone_says_how_to_fetch(command: Command, repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> None:
    repository.commit()
    clone = tmp_path_factory.mktemp("clone")
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{repository.folder}", str(clone)], check=True)
    ran = command("check", "--against", "HEAD~1", str(clone))
    assert (ran.code, "is a shallow clone without this revision; fetch it first" in ran.err) == (2, True)
    repository("update-ref", "refs/remotes/origin/release", "HEAD")
    assert "has no such revision; did you mean origin/release?" in command("check", "--against", "release", "deploy").err
    assert command("check", "--against", "HEAD", str(clone)).code == 0


REMOTES = {
    "ext": {"url": "ext::touch {ran}/ext"},
    "upload-pack": {"url": "{origin}", "uploadpack": "touch {ran}/uploadpack; git-upload-pack"},
    "ssh": {"url": "ssh://localhost/x"},
    "git": {"url": "git://localhost/x"},
    "helper": {"url": "x", "vcs": "touching"},
    "https": {"url": "https://localhost:1/x"},
}


@pytest.mark.parametrize("remote", REMOTES)
def test_nothing_that_the_configuration_of_a_repository_names_is_run(
    command: Command, repository: Repository, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, remote: str
) -> None:
    """A partial clone that lacks a file, so that git wants to fetch; each key that names a command touches a file when it is run."""
    repository("config", "uploadpack.allowFilter", "true")
    (clone, ran) = (tmp_path_factory.mktemp(name) for name in ("clone", "ran"))
    subprocess.run(["git", "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repository.folder}", str(clone)], check=True)
    programs = ran / "programs"
    (programs / "hooks").mkdir(parents=True)
    for name in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change"):
        write_program(programs / "hooks", name, f"touch {ran}/{name}")
    write_program(programs, "git-remote-touching", f"touch {ran}/git-remote-touching")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    keys = ["core.fsmonitor", "core.sshCommand", "core.pager", "pager.cat-file", "pager.ls-tree", "pager.rev-parse", "core.gitProxy"]
    keys += ["core.askPass", "core.alternateRefsCommand", "core.editor", "diff.external", "uploadpack.packObjectsHook", "gpg.program"]
    keys += ["credential.helper", "alias.ls-tree", "alias.cat-file", "alias.rev-parse", "filter.x.smudge", "diff.x.textconv"]
    settings = {key: f"!touch {ran}/{key}" if key.startswith(("alias", "credential")) else f"touch {ran}/{key}; true" for key in keys}
    settings |= {"core.hooksPath": f"{programs}/hooks", "protocol.allow": "always"}
    settings |= {f"protocol.{name}.allow": "always" for name in ("ext", "file", "ssh", "git", "https", "touching")}
    settings |= {
        f"remote.origin.{key}": value.format(ran=ran, origin=f"file://{repository.folder}") for key, value in REMOTES[remote].items()
    }
    for key, value in settings.items():
        subprocess.run(["git", "-C", str(clone), "config", key, value], check=True)
    (clone / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
    (clone / "deploy").mkdir()
    (clone / "deploy" / "g.yaml").write_text(AFTER)
    done = command("check", "--against", "HEAD", str(clone))
    assert (done.code, done.out) == (2, "")
    assert "is a partial clone that lacks files of this revision" in done.err
    assert [file.name for file in ran.iterdir()] == ["programs"]


@proc_only
def test_a_git_that_hangs_is_killed_with_all_that_it_started(
    command: Command, repository: Repository, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path_factory.mktemp("programs")
    write_program(programs, "git", f"sleep 600 &\necho $! > {programs}/child\nwait")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(revision, "_CALL_TIMEOUT_SECONDS", 3)
    ran = command("check", "--against", "HEAD", "deploy")
    assert (ran.code, ran.err) == (2, "dynamo-webhooks check: --against: git did not answer within 3 seconds\n")
    child = Path("/proc", (programs / "child").read_text().strip(), "stat")
    eventually(lambda: not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z")  # at most not reaped yet


def test_a_repository_of_somebody_else_says_what_git_wants(
    command: Command, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    ran = command("check", "--against", "main", "deploy")
    allow = f"allow it with git config --global --add safe.directory {repository.folder}"
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith(f"{repository.folder} belongs to another user, so git won't read it; {allow}\n")


def test_large_files_are_said_and_many_come_in_pieces(
    command: Command, files: Files, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = {f"deploy__{number}": BEFORE.replace("name: g", f"name: g{number}") for number in range(5)}
    files(**many, deploy__large="#" * 3000)
    repository.commit()
    files(**{name: text.replace("vllm", "sglang") for name, text in many.items()}, deploy__large=GOOD)
    monkeypatch.setattr(revision, "MAX_FILE_BYTES", 2000)
    monkeypatch.setattr(revision, "_MAX_CALL_BYTES", 400)
    ran = _check(command, "deploy")
    assert _found(ran) == [RULE] * 5
    assert [note["reason"] for note in ran.json["notEvaluated"]] == [
        "main:deploy/large.yaml: is larger than 0 MiB, so its past is not known"
    ]


def test_outside_of_a_repository_and_without_git(command: Command, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(g=BEFORE)
    ran = _check(command, "g.yaml")
    assert (ran.code, ran.err) == (2, "dynamo-webhooks check: --against main: g.yaml is in no repository of git\n")
    (tmp_path / ".git").mkdir()
    sentence = f"git finds no repository in {tmp_path}, though it has a .git; repair or remove that"
    assert _check(command, "g.yaml").err == f"dynamo-webhooks check: --against main: {sentence}\n"
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = _check(command, "g.yaml")
    assert (ran.code, ran.err) == (2, "dynamo-webhooks check: --against needs git, which can't be found\n")


@pytest.mark.parametrize("damaged", [True, False])
def test_a_file_that_a_repository_lost_is_said(command: Command, files: Files, repository: Repository, damaged: bool) -> None:
    name = repository("rev-parse", "main:deploy/g.yaml").strip()
    kept = repository.folder / ".git" / "objects" / name[:2] / name[2:]
    kept.unlink()
    if damaged:
        kept.write_bytes(b"x")
    ran = _check(command, "deploy")
    assert ran.code == 2
    assert ran.err.endswith(" lacks files of this revision, or they are damaged; git fsck says more\n")
