"""The wheel: one import name, which neither folders nor other distributions that own the rooms' names can shadow."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.manifests.environment import PACKAGE, ROOMS, ROOT, install

GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g}
spec: {components: [{name: w, type: worker, replicas: -1, podTemplate: {spec: {containers: [{name: main, image: "x/vllm:1.5.0"}]}}}]}
"""


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the wheel and, installed after it, packages of every room's name."""
    python = install(wheel, tmp_path_factory.mktemp("installed") / "venv")
    [packages] = python.parent.parent.glob("lib/python3*/site-packages")
    _decoys(packages)
    return python


def _decoys(folder: Path) -> None:
    """Packages of the rooms' names, which leave the file `ran` when they are imported."""
    for room in ROOMS:
        (folder / room).mkdir()
        (folder / room / "__init__.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write(__name__)\n")


def test_the_wheel_holds_one_import_name_with_every_room_its_data_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        [licence] = [name for name in files if name.endswith("/LICENSE")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    names = {name.partition("/")[0] for name in files}
    assert {name for name in names if not name.endswith(".dist-info")} == {PACKAGE}
    assert len(names) == 2
    for name in ("api/generated/DynamoModel.v1alpha1.json", "policies/index.json", *(f"{room}/__init__.py" for room in ROOMS)):
        assert f"{PACKAGE}/{name}" in files


def test_folders_and_distributions_of_the_rooms_names_shadow_nothing(python: Path, tmp_path: Path) -> None:
    """A repository with folders `cli`, `api` ... in the working directory, on PYTHONPATH and in site-packages at once."""
    _decoys(tmp_path)
    (tmp_path / "graph.yaml").write_text(GRAPH)
    command = [str(python.with_name("dynamo-webhooks")), "check", "graph.yaml", "-o", "json"]
    for words in (command, [str(python), "-m", PACKAGE, *command[1:]]):
        done = subprocess.run(words, cwd=tmp_path, env={"PYTHONPATH": "."}, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr
        assert {finding["rule"] for finding in json.loads(done.stdout)["findings"]} & {"replicas-non-negative", "schema"}
    [packages] = python.parent.parent.glob("lib/python3*/site-packages")
    assert not (tmp_path / "ran").exists()
    assert not (packages / "ran").exists()


OPERATOR = """\
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
namespace: {restricted: llm}
mpi: {sshSecretName: keys, sshSecretNamespace: llm}
"""
OFFLINE = (
    "check graph.yaml -o json",
    "explain replicas-non-negative",
    "rules -o json",
    "default graph.yaml -o json",
    "convert graph.yaml --to v1alpha1",
    "render graph.yaml --config operator.yaml",
    "picture graph.yaml -o svg",
    "diff graph.yaml graph.yaml -o json",
    "config --config operator.yaml",
    "crds",
    "schema check",
    "completion bash",
    "completion kubectl",
    "version",
)


@pytest.mark.parametrize("words", OFFLINE)
def test_commands_on_files_need_no_extra(python: Path, tmp_path: Path, words: str) -> None:
    (tmp_path / "graph.yaml").write_text(GRAPH.replace("-1", "1"))
    (tmp_path / "operator.yaml").write_text(OPERATOR)
    done = subprocess.run([python.with_name("dynamo-webhooks"), *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("serve", "server"),
        ("provision --config operator.yaml", "server"),
        ("reconcile --config operator.yaml", "server"),
        ("up", "server"),
        ("lsp", "lsp"),
        ("doctor", "cluster"),
        ("facts --cluster", "cluster"),
        ("check --cluster", "cluster"),
        ("certs inspect", "cluster"),
    ],
)
def test_others_say_which_extra_is_missing(python: Path, tmp_path: Path, words: str, extra: str) -> None:
    (tmp_path / "operator.yaml").write_text(OPERATOR)
    done = subprocess.run([python.with_name("dynamo-webhooks"), *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False)
    said = f"dynamo-webhooks {words.split(maxsplit=1)[0]}: needs packages that are not installed; install dynamo-webhooks[{extra}]\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_an_installation_without_an_extra_is_small(python: Path) -> None:
    [packages] = python.parent.parent.glob("lib/python3*/site-packages")
    assert sum(file.stat().st_size for file in packages.rglob("*") if "__pycache__" not in file.parts and file.is_file()) < 20_000_000
