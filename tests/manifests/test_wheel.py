"""The wheel: one import name, which neither folders nor other distributions that own the rooms' names can shadow."""

import json
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.manifests.environment import PACKAGE, ROOMS, ROOT, copy_sources, install, run_pip

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
    for name in ("api/generated/DynamoModel.v1alpha1.json", *(f"{room}/__init__.py" for room in ROOMS)):
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


def test_a_checkout_without_symbolic_links_is_installed_as_it_lies_there(tmp_path: Path) -> None:
    """As `make` does: what changes in the rooms changes the installed command."""
    copy_sources(tmp_path / "source")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    [packages] = (tmp_path / "venv").glob("lib/python3*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))
    run_pip("install", "--no-deps", "--no-build-isolation", "--ignore-installed", "--prefix", tmp_path / "venv", "-e", tmp_path / "source")
    (tmp_path / "graph.yaml").write_text(GRAPH)
    with (tmp_path / "source" / "cli" / "console" / "program.py").open("a") as file:
        file.write("COMMANDS['check'] = 'of the folder'\n")
    for words, code, printed in ((["check", "graph.yaml"], 1, "replicas-non-negative"), (["--help"], 0, "of the folder")):
        command = [str(tmp_path / "venv" / "bin" / "python"), "-m", PACKAGE, *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, printed in done.stdout) == (code, True), done.stdout + done.stderr


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
    "diff graph.yaml graph.yaml -o json",
    "config --config operator.yaml",
    "crds",
    "schema check",
    "completion bash",
    "completion kubectl",
    "version",
)


# extra -> commands that need it
NEEDED = {
    "server": ("serve", "provision --config operator.yaml", "reconcile --config operator.yaml", "up"),
    "lsp": ("lsp",),
    "cluster": ("doctor", "facts --cluster", "check --cluster", "certs inspect"),
}
EACH = """
import sys
from dynamo_webhooks.cli.main import main
for words in sys.argv[1:]:
    print("=", main(words.split()), flush=True)
"""


def _each(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs commands in one process of the installation, which says after each what it ended with."""
    (folder / "graph.yaml").write_text(GRAPH.replace("-1", "1"))
    (folder / "operator.yaml").write_text(OPERATOR)
    return subprocess.run([python, "-c", EACH, *words], cwd=folder, capture_output=True, text=True, check=True)


def test_commands_on_files_need_no_extra(python: Path, tmp_path: Path) -> None:
    done = _each(python, tmp_path, *OFFLINE)
    *printed, rest = done.stdout.split("= 0\n")
    assert (len(printed), "" in printed, rest) == (len(OFFLINE), False, ""), done.stderr


def test_others_say_which_extra_is_missing(python: Path, tmp_path: Path) -> None:
    needing = {words: extra for extra, commands in NEEDED.items() for words in commands}
    done = _each(python, tmp_path, *needing)
    sentence = "dynamo-webhooks {}: needs packages that are not installed; run pip install '.[{}]' in a checkout, or "
    wanted = [sentence.format(words.split()[0], extra) for words, extra in needing.items()]
    assert [line.partition("pip install 'WHEEL")[0] for line in done.stderr.splitlines()] == wanted
    assert done.stdout == "= 2\n" * len(needing)


def test_an_installation_without_an_extra_is_small(python: Path) -> None:
    [packages] = python.parent.parent.glob("lib/python3*/site-packages")
    assert sum(file.stat().st_size for file in packages.rglob("*") if "__pycache__" not in file.parts and file.is_file()) < 20_000_000
