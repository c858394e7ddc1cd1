"""The image: what its file says, and what it would hold, run as it would be run: in a root of its own, by a user who may write nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import trustme
import yaml

from tests.cluster.processes import Process, free_ports, running, wait_until
from tests.manifests.environment import PACKAGE, ROOMS, ROOT, install

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

USER: Final = 65532
CHROOT: Final = shutil.which("chroot") or "/usr/sbin/chroot"
UNSHARE: Final = shutil.which("unshare")
FILE: Final = ROOT / "manifests" / "Containerfile"
INSTRUCTIONS: Final = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
SCRATCH: Final = "/" + "tmp"  # in the image, where it is a memory of its own


def _last(word: str) -> str:
    return [line for line in INSTRUCTIONS if line.startswith(f"{word} ")][-1].removeprefix(f"{word} ")


def test_the_last_stage_starts_from_nothing_and_runs_no_command() -> None:
    last = INSTRUCTIONS[max(i for i, line in enumerate(INSTRUCTIONS) if line.startswith("FROM ")) :]
    assert last[0] == "FROM scratch"
    assert not [line for line in last if line.startswith("RUN ")], "there is no shell to run it with"


def test_it_runs_as_a_numeric_user_who_is_not_root() -> None:
    assert _last("USER") == f"{USER}:{USER}"


@pytest.mark.parametrize("word", ["ENTRYPOINT", "CMD"])
def test_it_starts_without_a_shell(word: str) -> None:
    command = json.loads(_last(word))
    assert command
    assert "sh" not in {Path(part).name for part in command}


def test_every_command_of_the_build_is_in_the_exec_form() -> None:
    commands = [json.loads(line.removeprefix("RUN ")) for line in INSTRUCTIONS if line.startswith("RUN ")]
    assert len(commands) >= 3


def test_images_are_pinned_to_a_version_or_a_digest() -> None:
    named = [line.partition("=")[2] for line in INSTRUCTIONS if line.startswith("ARG ") and "IMAGE" in line]
    froms = [line.split()[1] for line in INSTRUCTIONS if line.startswith("FROM ")]
    assert named
    assert {name for name in froms if name != "scratch"} <= {"${PYTHON_IMAGE}"}
    for name in named:
        assert re.fullmatch(r"[a-z/]+(:(?!latest)[\w.-]+|@sha256:[0-9a-f]{64})", name), name


def test_only_named_sources_are_copied_and_all_rooms_are() -> None:
    copied = {part for line in INSTRUCTIONS if line.startswith("COPY ") and "--from" not in line for part in line.split()[1:-1]}
    assert "." not in copied, "the whole context may hold keys"
    assert copied == {PACKAGE, *ROOMS, "pyproject.toml", "README.md", "LICENSE", "requirements.lock", "manifests/image/collect.py"}


def test_nothing_looks_like_a_secret() -> None:
    assert not re.findall(r"(?i)(token|password|secret|api_?key|BEGIN )", "\n".join(INSTRUCTIONS))


def test_the_ports_are_those_of_the_manifests() -> None:
    assert _last("EXPOSE").split() == ["9443", "8081", "8080"]


@pytest.fixture(scope="module")
def image(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The file system that the build would make, and the interpreter's path in it; it is large, so that it goes when it has been used."""
    home = tmp_path_factory.mktemp("image")
    python = install(wheel, home / "opt")
    target = home / "root"
    done = subprocess.run([python, ROOT / "manifests" / "image" / "collect.py", target], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for folder, _, _ in os.walk(target):
        if Path(folder) != target / "tmp":
            Path(folder).chmod(0o755)  # temporary directories are made for one user alone
    yield target, str(python)
    shutil.rmtree(home)


def _inside(root: Path, command: Sequence[str]) -> list[str]:
    """A command line that runs the command with `root` as its root, as the image's user, in an empty environment."""
    if os.geteuid() == 0:
        return [CHROOT, f"--userspec={USER}:{USER}", str(root), *command]
    if UNSHARE and subprocess.run([UNSHARE, "-r", "true"], capture_output=True, check=False).returncode == 0:
        return [UNSHARE, "-r", CHROOT, str(root), *command]
    pytest.skip("only root, or a user who may make user namespaces, can change the root directory")


@pytest.fixture(scope="module")
def version() -> str:
    """What the command says here."""
    return subprocess.run(
        [sys.executable, "-m", "dynamo_webhooks.cli.main", "version"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def test_the_image_holds_no_shell_and_no_installer(image: tuple[Path, str]) -> None:
    root, _ = image
    names = {path.name for path in root.rglob("*")}
    assert not names & {"sh", "bash", "dash", "busybox", "pip", "apt", "curl"}


def test_its_programs_are_the_command_and_the_interpreter(image: tuple[Path, str]) -> None:
    root, python = image
    programs = {path.name for path in (root / Path(python).relative_to("/")).parent.iterdir()}
    assert {name for name in programs if not re.fullmatch(r"python[\d.]*", name)} == {"dynamo-webhooks"}


def test_everybody_may_write_to_the_scratch_directory(image: tuple[Path, str]) -> None:
    root, _ = image
    assert stat.S_IMODE((root / "tmp").stat().st_mode) == 0o1777


def test_the_command_starts_in_the_image(image: tuple[Path, str], version: str) -> None:
    root, python = image
    script = str(Path(python).with_name("dynamo-webhooks"))
    for command in ([script, "version"], [python, "-m", "dynamo_webhooks.cli.main", "version"]):
        done = subprocess.run(_inside(root, command), capture_output=True, text=True, check=False, env={}, cwd="/")
        assert done.returncode == 0, done.stderr
        assert done.stdout == version


def test_the_data_that_the_code_reads_is_installed(image: tuple[Path, str]) -> None:
    root, python = image
    graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}, "spec": {"services": {}}}
    (root / "tmp" / "graph.json").write_text(json.dumps(graph))
    command = [python, "-m", "dynamo_webhooks.cli.main", "check", f"{SCRATCH}/graph.json", "-o", "json"]
    done = subprocess.run(_inside(root, command), capture_output=True, text=True, check=False, env={}, cwd="/")
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["summary"]["objects"] == 1


def test_the_server_serves_from_the_image_with_nothing_but_a_scratch_directory(image: tuple[Path, str], tmp_path: Path) -> None:
    root, python = image
    [listen, probes, metrics] = free_ports(3)
    flags = {"--listen": listen, "--probe-listen": probes, "--metrics-listen": metrics}
    addresses = [part for flag, port in flags.items() for part in (flag, f"127.0.0.1:{port}")]
    serve = [
        python,
        "-m",
        "dynamo_webhooks.cli.main",
        "serve",
        "--self-signed",
        "--no-cluster",
        "--workers",
        "2",
        "--cert-dir",
        f"{SCRATCH}/certs",
    ]
    command = _inside(root, serve)
    with running(Process("image", [*command, *addresses], tmp_path / "image.log", {"PYTHONDONTWRITEBYTECODE": "1"})) as process:
        wait_until(lambda: "ready https://" in process.text(), "the server in the image being ready", process)
        with contextlib.closing(urllib.request.urlopen(f"http://127.0.0.1:{probes}/readyz", timeout=30)) as answer:
            assert answer.status == 200
        with socket.create_connection(("127.0.0.1", listen), timeout=30):
            pass
        assert not [
            path for path in root.rglob("*") if path.stat(follow_symlinks=False).st_uid == USER and root / "tmp" not in path.parents
        ]
        assert process.stop() == 0


def test_the_servers_container_serves_from_its_mounts_while_no_api_server_can_be_reached(image: tuple[Path, str], tmp_path: Path) -> None:
    """The Deployment's own arguments, environment and configuration; the Secret and the account's token are files, as in a pod."""
    root, python = image
    deployment = yaml.safe_load((ROOT / "manifests" / "base" / "server.yaml").read_text())
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    config = yaml.safe_load((ROOT / "manifests" / "base" / "config.yaml").read_text())
    ports = free_ports(4)
    config["serving"]["drainLag"] = "0s"  # nothing withdraws an endpoint here
    for section, port in zip(("webhook", "healthProbe", "metrics"), ports, strict=False):  # of a pod, where nobody else has any
        config["server"][section]["port"] = port
    ca = trustme.CA()
    pair = ca.issue_cert("dynamo-webhooks.dynamo-system.svc", "127.0.0.1")
    account = "var/run/secrets/kubernetes.io/serviceaccount"
    files = {
        "etc/dynamo-webhooks/config.yaml": yaml.safe_dump(config).encode(),
        "var/run/dynamo-webhooks/serving/tls.crt": pair.cert_chain_pems[0].bytes(),
        "var/run/dynamo-webhooks/serving/tls.key": pair.private_key_pem.bytes(),
        "var/run/dynamo-webhooks/serving/ca.crt": ca.cert_pem.bytes(),
        f"{account}/token": b"token",
        f"{account}/ca.crt": ca.cert_pem.bytes(),
        f"{account}/namespace": b"dynamo-system",
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    told = {"POD_NAMESPACE": "dynamo-system", "POD_NAME": "p", "POD_SERVICE_ACCOUNT": "dynamo-webhooks-reconciler"}
    away = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(ports[3])}
    command = _inside(root, [str(Path(python).with_name("dynamo-webhooks")), *container["args"]])
    with running(Process("container", command, tmp_path / "container.log", {**told, **away, "PYTHONDONTWRITEBYTECODE": "1"})) as process:
        wait_until(lambda: "ready https://" in process.text(), "the container being ready", process)
        trusting = ssl.create_default_context(cadata=ca.cert_pem.bytes().decode())
        with (
            socket.create_connection(("127.0.0.1", ports[0]), timeout=30) as connection,
            trusting.wrap_socket(connection, server_hostname="dynamo-webhooks.dynamo-system.svc") as secured,
        ):
            assert secured.version() in {"TLSv1.2", "TLSv1.3"}
        assert "Traceback" not in process.text()
