"""`make release` as a whole: what it made, looked at by others' tools and run; and, each night, made twice, with the same bytes."""

import contextlib
import hashlib
import io
import json
import os
import platform
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NoReturn

import pytest
import trustme
import yaml
from packaging.utils import canonicalize_name

from tests.cluster.processes import Process, free_ports, running, wait_until
from tests.manifests.environment import ROOT
from tests.release.test_source import git
from tools.release.archives import read_zip
from tools.release.image import HOME

USER: Final = 65532
CHROOT: Final = shutil.which("chroot") or "/usr/sbin/chroot"
UNSHARE: Final = shutil.which("unshare")
SCRATCH: Final = "/" + "tmp"  # in the image, where it is a memory of its own
PYTHON: Final = f"{HOME}/bin/python"
SCRIPT: Final = f"{HOME}/bin/dynamo-webhooks"
CI: Final = os.environ.get("CI") == "true"
WAIT_SECONDS: Final = 2400  # for two releases at once; two idle cores take three minutes
pytestmark = pytest.mark.slow("compiles modules for two C libraries")
# what tests the compiled modules
COMPILED: Final = [f"tests/{room}" for room in ("admission", "api", "conversion", "laws", "policies", "webhooks")]


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with this tree as its tagged commit."""
    for program, use in (("buildah", "builds the image"), ("musl-gcc", "compiles modules for musl")):
        if not shutil.which(program):
            _lacking(f"no {program} on this machine, which {use}")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    clone = tmp_path_factory.mktemp("releases") / "a"
    clone.mkdir()
    for name in listed.stdout.splitlines():
        if os.path.lexists(ROOT / name):
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name, follow_symlinks=False)
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(re.sub(r"(?<=## Unreleased\n).*?(?=^## )", "\n", changelog.read_text(), flags=re.MULTILINE | re.DOTALL))
    git(clone, "init", "--quiet")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Release")
    git(clone, "tag", "v0.1.0")
    return clone


@pytest.fixture(scope="module")
def release(tagged: Path) -> Path:
    """The files of a release."""
    return _released(tagged, 0o022)


def _released(clone: Path, umask: int) -> Path:
    command = [sys.executable, "-m", "tools.release"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False, umask=umask, timeout=WAIT_SECONDS)
    assert done.returncode == 0, done.stderr
    return clone / "dist"


def _lacking(why: str) -> NoReturn:
    """Skips what this machine can't run, but never in CI."""
    assert not CI, why
    pytest.skip(why)


def _file(dist: Path, pattern: str) -> Path:
    [path] = dist.glob(pattern)
    return path


@pytest.mark.nightly
def test_two_releases_from_other_folders_under_other_umasks_have_the_same_bytes(release: Path, tagged: Path) -> None:
    clone = tagged.parent / "another-folder"
    git(tagged.parent, "clone", "--quiet", str(tagged), str(clone))
    dists = (release, _released(clone, 0o077))
    first, another = ({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in dist.iterdir()} for dist in dists)
    assert first == another
    assert len(first) == 12
    assert "dynamo-webhooks.pyz" in first


def test_sums_name_every_file_with_its_digest(release: Path) -> None:
    dist = release
    sums = {name: digest for line in (dist / "SHA256SUMS").read_text().splitlines() for digest, name in [line.split("  ")]}
    assert sums == {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in dist.iterdir() if file.name != "SHA256SUMS"}


def test_nothing_tells_where_it_was_built(release: Path, image: Path) -> None:
    where = str(release.parent).encode()
    for file in [*release.iterdir(), *(path for path in image.rglob("*") if path.is_file() and not path.is_symlink())]:
        assert where not in file.read_bytes(), file.name


def test_the_pyz_runs_on_every_interpreter_that_is_here_and_holds_modules_for_the_others(release: Path, bare: Path, tmp_path: Path) -> None:
    packed = release / "dynamo-webhooks.pyz"
    newer = shutil.which("python3.13")
    tried = 0
    for python in filter(None, (str(bare), newer)):
        around = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        if subprocess.run([python, "-I", "-c", ""], env=around, capture_output=True, check=False).returncode:
            continue  # a name that pyenv knows, of an interpreter that isn't chosen
        done = subprocess.run([python, packed, "version"], env=around, capture_output=True, text=True, check=False)
        assert (done.returncode, json.loads(done.stdout)["version"]) == (0, "0.1.0"), done.stderr
        tried += 1
    assert tried
    application = io.BytesIO(read_zip(packed)["application.zip"])
    held = {name for name in read_zip(application) if name.endswith(".so")}
    for module in ("orjson/orjson", "yaml/_yaml"):
        for version in ("311", "312", "313", "314"):
            for processor in ("x86_64", "aarch64"):
                assert f"{module}.cpython-{version}-{processor}-linux-gnu.so" in held


def test_the_pyz_serves_editors_and_the_extension_brings_it(release: Path, bare: Path, tmp_path: Path) -> None:
    packed = release / "dynamo-webhooks.pyz"
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    sent = [first, {"jsonrpc": "2.0", "id": 2, "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}]
    messages = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in (json.dumps(message).encode() for message in sent))
    around = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run([bare, packed, "lsp"], env=around, input=messages, capture_output=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'"codeLensProvider"' in done.stdout
    extension = read_zip(_file(release, "*.vsix"))
    assert extension["extension/dynamo-webhooks.pyz"] == packed.read_bytes()
    assert json.loads(extension["extension/package.json"])["version"] == "0.1.0"
    assert json.loads(_file(release, "*-vscode.cdx.json").read_text())["components"]


@pytest.mark.parametrize(("pattern", "compiled"), [("*-none-any.whl", False), ("*-manylinux_*.whl", True)])
def test_a_wheel_installs_from_its_lock(release: Path, tmp_path: Path, pattern: str, compiled: bool) -> None:
    wheel = _file(release, pattern)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--require-hashes", "--requirement", release / "requirements-files.lock"], check=True)
    subprocess.run([*install, "--no-deps", wheel], check=True)
    done = subprocess.run([python, "-m", "dynamo_webhooks", "version"], capture_output=True, text=True, check=False, cwd=tmp_path)
    report = json.loads(done.stdout or "{}")
    assert (done.returncode, report.get("version"), report.get("compiled")) == (0, "0.1.0", compiled), done.stderr


@pytest.fixture(scope="module")
def compiled(release: Path, tagged: Path) -> Path:
    """The tagged repository, with the compiled modules of its wheel in place."""
    for name, content in read_zip(_file(release, "*-manylinux_*.whl")).items():
        if name.endswith(".so"):
            (tagged / name).write_bytes(content)  # rooms are links there
    done = subprocess.run([sys.executable, "-m", "dynamo_webhooks", "version"], capture_output=True, text=True, check=True, cwd=tagged)
    assert json.loads(done.stdout)["compiled"]
    return tagged


@pytest.mark.nightly
def test_rooms_pass_their_tests_and_laws_on_the_compiled_modules_of_the_wheel(compiled: Path) -> None:
    tests = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-m", "not interpreted and not nightly", *COMPILED]
    done = subprocess.run(tests, capture_output=True, text=True, check=False, cwd=compiled)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr


def test_compiled_modules_give_the_recorded_answers_that_the_sources_give(compiled: Path) -> None:
    ask = [sys.executable, "-m", "tests.golden.answers"]
    answers, expected = (subprocess.run(ask, capture_output=True, text=True, check=True, cwd=cwd).stdout for cwd in (compiled, ROOT))
    assert answers.count("\n") > 20_000
    assert [pair for pair in zip(answers.split("\n"), expected.split("\n"), strict=True) if pair[0] != pair[1]] == []


def test_the_wheel_for_musl_differs_in_its_modules_which_need_python_and_musl_alone(release: Path, tmp_path: Path) -> None:
    glibc, musl = (read_zip(_file(release, f"*-{form}_*.whl")) for form in ("manylinux", "musllinux"))
    assert {name.replace("-gnu.so", "-musl.so") for name in glibc} == musl.keys()
    assert {name.rpartition("/")[2] for name, content in glibc.items() if musl.get(name) not in (content, None)} == {"WHEEL", "RECORD"}
    offered = _symbols("--defined-only", Path(f"/lib/ld-musl-{platform.machine()}.so.1"))
    for name in musl.keys() - glibc.keys():
        (tmp_path / "module.so").write_bytes(musl[name])
        wanted = _symbols("--undefined-only", tmp_path / "module.so")
        assert {symbol for symbol in wanted if not symbol.startswith(("Py", "_Py"))} <= offered, name


def _symbols(which: str, file: Path) -> set[str]:
    """Names of symbols, but for weak ones that are looked for, which may lack."""
    listed = subprocess.run(["nm", "--dynamic", which, file], capture_output=True, text=True, check=True).stdout
    return {words[-1] for line in listed.splitlines() if (words := line.split())[-2] != "w"}


def test_the_bill_of_the_image_lists_what_the_lock_does(release: Path) -> None:
    bill = json.loads(_file(release, "dynamo-webhooks-*[0-9].cdx.json").read_text())
    listed = {canonicalize_name(each["name"]): each["version"] for each in bill["components"]}
    lock = (release / "requirements-server.lock").read_text()
    assert listed == {**dict(re.findall(r"^([\w-]+)==([^\s;]+)", lock, re.MULTILINE)), "python": platform.python_version()}
    assert all(each.get("licenses") for each in bill["components"] if each["name"] != "python")


def test_skopeo_finds_the_image_that_the_containerfile_declares(release: Path, tmp_path: Path) -> None:
    archive = _file(release, "*-oci.tar")
    skopeo = shutil.which("skopeo")
    if not skopeo:
        _lacking("no skopeo on this machine")
    shown = subprocess.run([skopeo, "inspect", "--config", f"oci-archive:{archive}:0.1.0"], capture_output=True, text=True, check=True)
    config = json.loads(shown.stdout)["config"]
    assert (config["User"], config["WorkingDir"]) == (f"{USER}:{USER}", "/")
    assert (config["Entrypoint"], config["Cmd"]) == ([SCRIPT], ["serve", "--config=/etc/dynamo-webhooks/config.yaml"])
    assert config["ExposedPorts"] == {"9443/tcp": {}, "8081/tcp": {}, "8080/tcp": {}}
    assert {"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "LANG=C.UTF-8"} < set(config["Env"])
    labels = {name.removeprefix("org.opencontainers.image."): text for name, text in config["Labels"].items()}
    assert labels.keys() == {"title", "licenses", "version", "revision", "source"}
    assert (labels["version"], labels["source"]) == ("0.1.0", "https://github.com/OWNER/dynamo-webhooks")
    copy = [skopeo, "--insecure-policy", "copy", "--quiet", f"oci-archive:{archive}", f"dir:{tmp_path / 'copy'}"]
    subprocess.run(copy, check=True)  # compares each blob with its digest


@pytest.fixture(scope="module")
def image(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The root of the image as umoci unpacks it; it is large, so that it goes when it has been used."""
    home = tmp_path_factory.mktemp("image")
    umoci = shutil.which("umoci")
    if not umoci:
        _lacking("no umoci on this machine")
    with tarfile.open(_file(release, "*-oci.tar")) as opened:
        opened.extractall(home / "layout", filter="data")
    rootless = [] if os.geteuid() == 0 else ["--rootless"]
    unpack = [umoci, "raw", "unpack", *rootless, "--image", f"{home / 'layout'}:0.1.0", str(home / "root")]
    subprocess.run(unpack, check=True, capture_output=True)
    yield home / "root"
    shutil.rmtree(home)


def _inside(root: Path, command: Sequence[str]) -> list[str]:
    """A command line that runs the command with `root` as its root, as the image's user, in an empty environment."""
    if os.geteuid() == 0:
        return [CHROOT, f"--userspec={USER}:{USER}", str(root), *command]
    if UNSHARE and subprocess.run([UNSHARE, "-r", "true"], capture_output=True, check=False).returncode == 0:
        return [UNSHARE, "-r", CHROOT, str(root), *command]
    _lacking("only root, or a user who may make user namespaces, can change the root directory")


@pytest.fixture(scope="module")
def version() -> str:
    """What the command says here."""
    return subprocess.run(
        [sys.executable, "-m", "dynamo_webhooks.cli.main", "version"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def test_the_image_holds_the_command_the_interpreter_and_a_scratch_directory_for_everybody(image: Path) -> None:
    names = {path.name for path in image.rglob("*")}
    assert not names & {"sh", "bash", "dash", "busybox", "pip", "apt", "curl"}
    programs = {path.name for path in (image / Path(PYTHON).relative_to("/")).parent.iterdir()}
    assert {name for name in programs if not re.fullmatch(r"python[\d.]*", name)} == {"dynamo-webhooks"}
    assert stat.S_IMODE((image / "tmp").stat().st_mode) == 0o1777


def test_the_command_starts_in_the_image(image: Path, version: str) -> None:
    for command in ([SCRIPT, "version"], [PYTHON, "-m", "dynamo_webhooks.cli.main", "version"]):
        done = subprocess.run(_inside(image, command), capture_output=True, text=True, check=False, env={}, cwd="/")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {**json.loads(version), "compiled": True}


def test_the_data_that_the_code_reads_is_installed(image: Path) -> None:
    graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}, "spec": {"services": {}}}
    (image / "tmp" / "graph.json").write_text(json.dumps(graph))
    command = [PYTHON, "-m", "dynamo_webhooks.cli.main", "check", f"{SCRATCH}/graph.json", "-o", "json"]
    done = subprocess.run(_inside(image, command), capture_output=True, text=True, check=False, env={}, cwd="/")
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["summary"]["objects"] == 1


def test_the_server_serves_from_the_image_with_nothing_but_a_scratch_directory(image: Path, tmp_path: Path) -> None:
    [listen, probes, metrics] = free_ports(3)
    flags = {"--listen": listen, "--probe-listen": probes, "--metrics-listen": metrics}
    addresses = [part for flag, port in flags.items() for part in (flag, f"127.0.0.1:{port}")]
    serve = [
        PYTHON,
        "-m",
        "dynamo_webhooks.cli.main",
        "serve",
        "--self-signed",
        "--no-cluster",
        "--cert-dir",
        f"{SCRATCH}/certs",
    ]
    command = _inside(image, serve)
    with running(Process("image", [*command, *addresses], tmp_path / "image.log", {"PYTHONDONTWRITEBYTECODE": "1"})) as process:
        wait_until(lambda: "ready https://" in process.text(), "the server in the image being ready", process)
        with contextlib.closing(urllib.request.urlopen(f"http://127.0.0.1:{probes}/readyz", timeout=30)) as answer:
            assert answer.status == 200
        with socket.create_connection(("127.0.0.1", listen), timeout=30):
            pass
        assert not [
            path for path in image.rglob("*") if path.stat(follow_symlinks=False).st_uid == USER and image / "tmp" not in path.parents
        ]
        assert process.stop() == 0


def test_the_servers_container_serves_from_its_mounts_while_no_api_server_can_be_reached(image: Path, tmp_path: Path) -> None:
    """The Deployment's own arguments, environment and configuration; the Secret and the account's token are files, as in a pod."""
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
        (image / name).parent.mkdir(parents=True, exist_ok=True)
        (image / name).write_bytes(content)
    pod = {"POD_NAMESPACE": "dynamo-system", "POD_NAME": "p", "POD_SERVICE_ACCOUNT": "dynamo-webhooks-reconciler"}
    away = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(ports[3])}
    command = _inside(image, [SCRIPT, *container["args"]])
    with running(Process("container", command, tmp_path / "container.log", {**pod, **away, "PYTHONDONTWRITEBYTECODE": "1"})) as process:
        wait_until(lambda: "ready https://" in process.text(), "the container being ready", process)
        trusting = ssl.create_default_context(cadata=ca.cert_pem.bytes().decode())
        with (
            socket.create_connection(("127.0.0.1", ports[0]), timeout=30) as connection,
            trusting.wrap_socket(connection, server_hostname="dynamo-webhooks.dynamo-system.svc") as secured,
        ):
            assert secured.version() in {"TLSv1.2", "TLSv1.3"}
        assert "Traceback" not in process.text()
