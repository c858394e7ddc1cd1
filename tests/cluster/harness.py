"""A real control plane on loopback: etcd, kube-apiserver, kube-controller-manager when asked, and kubectl to talk to them.

Our own server and its registration are in `admission.py`; building the programs is in `assets/build.py`.
"""

import contextlib
import http.client
import json
import os
import select
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.cluster import programs, rights
from tests.cluster.processes import Process, fetched, free_ports, running, wait_until

Node: TypeAlias = dict[str, Any]
ADMIN: Final = "admin"
_ATTEMPTS: Final = 200  # at a request, a tenth of a second apart
_APPLY: Final = "application/apply-patch+yaml"
USER: Final = "author"
TOKENS: Final = {ADMIN: ("token-of-the-admin", "system:masters"), USER: ("token-of-an-author", "authors")}
# The ordinary user may write our kinds and read namespaces, through the group.
_ROLE: Final[list[Node]] = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "authors"},
        "rules": [
            {"apiGroups": ["nvidia.com"], "resources": ["*"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list"]},
        ],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "authors"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "authors"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "authors"}],
    },
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a kubectl call gave."""

    code: int
    stdout: str
    stderr: str

    def done(self) -> str:
        """The standard output; an assertion shows the standard error when the call failed."""
        assert self.code == 0, self.stderr
        return self.stdout

    def json(self) -> Node:
        """The same, decoded."""
        decoded: Node = json.loads(self.done())
        return decoded


@dataclass(frozen=True, slots=True)
class Reply:
    """What a raw HTTPS request gave; `warnings` are the texts of the Warning headers."""

    status: int
    body: Node
    warnings: tuple[str, ...] = ()

    def done(self) -> Node:
        """The body; an assertion shows it when the request was refused."""
        assert self.status in (200, 201), str(self.body)[:2_000]
        return self.body

    def causes(self) -> set[tuple[str, str]]:
        """The (field, reason) pairs of a refusal's `details.causes`."""
        return {(cause.get("field", ""), cause.get("reason", "")) for cause in (self.body.get("details") or {}).get("causes", [])}


@dataclass
class ControlPlane:
    """A running API server and how to talk to it."""

    assets: Path
    home: Path  # logs, certificates, kubeconfig, data
    port: int
    server: Process
    minor: int = 0  # of its version, 34 of 1.34
    address: str = "127.0.0.1"
    _names: Iterator[int] = field(default_factory=lambda: count(1))
    _idle: list[http.client.HTTPSConnection] = field(default_factory=list)
    _collections: dict[tuple[str, str], tuple[str, bool]] = field(default_factory=dict)  # by (apiVersion, kind); whether in namespaces

    @property
    def ca(self) -> Path:
        """The certificate that the API server is to be trusted by."""
        return self.home / "certs" / "apiserver.crt"

    @property
    def has_devices(self) -> bool:
        """Whether its version serves resource.k8s.io/v1."""
        return self.minor >= 34

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig with one context a user."""
        return self.home / "kubeconfig"

    def kubeconfig_of(self, account: str, namespace: str, file: Path) -> Path:
        """Writes a kubeconfig that holds nothing but a token of a service account."""
        self.await_rights()
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}}
        reply = self.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", wanted).done()
        _write_kubeconfig(self, file, {account: reply["status"]["token"]})
        return file

    def kubectl(self, *arguments: str, input: str | Node | None = None, user: str = ADMIN) -> Outcome:  # noqa: A002 - as subprocess has it
        """Runs kubectl; a dict as input is written as JSON."""
        text = json.dumps(input) if isinstance(input, dict) else input
        done = subprocess.run(
            [self.assets / "kubectl", "--kubeconfig", self.kubeconfig, "--context", user, *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "HOME": str(self.home)},
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def request(
        self,
        method: str,
        path: str,
        body: Node | list[Node] | str | None = None,
        *,
        kind: str = "application/json",
        user: str = ADMIN,
        acting: str = "",
        accept: str = "application/json",
    ) -> Reply:
        """Sends one raw request; `kind` is the content type of the body. As every client, asks again where a kind has just been changed.

        `acting` is another name that an admin sends it under.
        """
        other = {"Accept": accept}
        if acting:
            other |= {"Impersonate-User": acting, "Impersonate-Group": "system:masters"}
        for _ in range(_ATTEMPTS):
            reply = self._request(method, path, body, kind, user, other)
            if reply.status != 429 or "storage is (re)initializing" not in str(reply.body.get("message")):
                break
            time.sleep(0.1)
        return reply

    def _request(self, method: str, path: str, body: Node | list[Node] | str | None, kind: str, user: str, other: Node) -> Reply:
        headers = {"Authorization": f"Bearer {TOKENS[user][0]}", "Content-Type": kind, **other}
        with self._connection() as connection:
            connection.request(method, path, body if body is None or isinstance(body, str) else json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
        # headers are bytes of UTF-8, which the client reads as Latin 1
        headers_read = [text.encode("latin-1").decode() for text in answer.headers.get_all("Warning", [])]
        warnings = tuple(json.loads(text.split(" ", 2)[2]) for text in headers_read)
        decoded = json.loads(content) if answer.headers.get_content_type() == "application/json" else {"text": content.decode()}
        return Reply(answer.status, decoded, warnings)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[http.client.HTTPSConnection]:
        """One that an earlier request has left open, since a handshake costs the machine four small requests; or a new one."""
        connection = self._left_open()
        if connection is None:
            context = ssl.create_default_context(cafile=str(self.ca))
            connection = http.client.HTTPSConnection(self.address, self.port, context=context, timeout=120)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)

    def _left_open(self) -> http.client.HTTPSConnection | None:
        """The last one that the API server has not ended meanwhile: then there would be something to read."""
        with contextlib.suppress(IndexError):  # each thread takes its own
            while True:
                connection = self._idle.pop()
                if connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                    return connection
                connection.close()
        return None

    def close(self) -> None:
        """Closes the connections that are open."""
        while self._idle:
            self._idle.pop().close()

    def namespace(self, labels: Mapping[str, str] | None = None) -> str:
        """Creates a namespace with a name of its own."""
        name = f"test-{next(self._names)}"
        metadata = {"name": name, "labels": dict(labels or {})}
        self.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}).done()
        return name

    def apply(self, *objects: Node) -> None:
        """Applies objects as `kubectl apply --server-side` does, as the admin, but without its process."""
        for obj in objects:
            path = f"{self._path_of(obj)}?fieldManager=kubectl&fieldValidation=Strict"
            reply = self.request("PATCH", path, obj, kind=_APPLY)
            assert reply.status in (200, 201), (path, reply.body)
        if any(obj["apiVersion"].startswith(f"{rights.GROUP}/") for obj in objects):
            self.await_rights()

    def await_rights(self) -> None:
        """Waits until the API server's authorizer knows every role and binding that was written before.

        It follows them by four watches, each in order: that the last written one of each kind counts shows that all do.
        """
        name = f"rights-{next(self._names)}"
        written = [(f"{rights.ROOT}/{collection}", obj) for collection, obj in rights.probes(name)]
        for path, obj in written:
            self.request("POST", path, obj).done()
        for spec in rights.questions(name):
            wait_until(partial(self.allows, spec), f"the rights of {name} being known", self.server)
        for path, _ in written:
            self.request("DELETE", f"{path}/{name}")

    def allows(self, spec: Node) -> bool:
        """Whether somebody may do something; `spec` is that of a SubjectAccessReview."""
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        reply = self.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review).done()
        return bool(reply["status"]["allowed"])

    def _path_of(self, obj: Node) -> str:
        """Where an object is, once its kind is served."""
        version, kind, metadata = obj["apiVersion"], obj["kind"], obj["metadata"]
        what = f"{kind} of {version} being served"
        plural, is_namespaced = wait_until(partial(self._found, version, kind), what, self.server, patience=60)
        namespace = f"/namespaces/{metadata.get('namespace', 'default')}" if is_namespaced else ""
        return f"{_root(version)}{namespace}/{plural}/{metadata['name']}"

    def _found(self, version: str, kind: str) -> tuple[str, bool] | None:
        if (version, kind) not in self._collections:
            for each in self.request("GET", _root(version)).body.get("resources", []):
                if "/" not in each["name"]:
                    self._collections[version, each["kind"]] = each["name"], each["namespaced"]
        return self._collections.get((version, kind))

    def versions(self) -> set[tuple[str, str]]:
        """The (kind, apiVersion) pairs of our group that are served."""
        listed = [version["groupVersion"] for version in self.request("GET", "/apis/nvidia.com").body.get("versions", [])]
        return {(resource["kind"], name) for name in listed for resource in self.request("GET", f"/apis/{name}").body.get("resources", [])}

    def serves(self, path: str) -> bool:
        """Whether a path is there."""
        return self.request("GET", path).status == 200


def frugal() -> dict[str, str]:
    """The environment of Go programs that collect garbage less often, and need less CPU, as long as there is memory."""
    return {"GOGC": "1000", "GOMEMLIMIT": os.environ.get("GOMEMLIMIT", "2GiB")}


@contextlib.contextmanager
def control_plane(assets: Path, home: Path, *more: str, address: str = "127.0.0.1") -> Iterator[ControlPlane]:
    """Runs etcd and kube-apiserver until the end of the block, whichever process the latter is by then.

    `more` are further flags of kube-apiserver, which listens at `address`.

    Raises StartError with the tail of the log of what did not come up.
    """
    home.mkdir(parents=True, exist_ok=True)
    programs.write_keys(home, TOKENS)
    client, peer, port = free_ports(3)
    with contextlib.ExitStack() as stack:
        etcd = stack.enter_context(running(Process("etcd", programs.etcd(assets, home, client, peer), home / "etcd.log", frugal())))
        wait_until(lambda: fetched(f"127.0.0.1:{client}", "/health", 5)[0] == 200, "etcd being healthy", etcd)
        server = Process(
            "kube-apiserver", programs.api_server(assets, home, client, address, port, *more), home / "kube-apiserver.log", frugal()
        )
        plane = stack.enter_context(contextlib.closing(ControlPlane(assets, home, port, server, address=address)))
        stack.callback(_kill_server, plane)
        wait_until(lambda: is_ready(plane), "kube-apiserver being ready", etcd, server)
        plane.minor = int(plane.request("GET", "/version").body["minor"].rstrip("+"))
        _write_kubeconfig(plane, plane.kubeconfig, {name: token for name, (token, _) in TOKENS.items()})
        plane.apply(*_ROLE)
        yield plane


def _kill_server(plane: ControlPlane) -> None:
    """Ends the API server that runs by now: what it would do before is done for nobody."""
    plane.server.kill()


@contextlib.contextmanager
def controllers(plane: ControlPlane, *more: str) -> Iterator[Process]:
    """Runs Kubernetes' own controllers with further flags. Objects of kinds that come later are collected half a minute later."""
    [port] = free_ports(1)
    command = programs.controllers(plane.assets, plane.home, port, *more)
    with running(Process("kube-controller-manager", command, plane.home / "kube-controller-manager.log", frugal())) as process:
        yield process


@contextlib.contextmanager
def beside(plane: ControlPlane) -> Iterator[ControlPlane]:
    """Another API server on the same etcd, with the same certificate and users, until the end of the block; kubectl speaks to the first."""
    [port] = free_ports(1)
    command = [f"--secure-port={port}" if part.startswith("--secure-port=") else part for part in plane.server.command()]
    server = Process("kube-apiserver-2", command, plane.home / "kube-apiserver-2.log", frugal())
    with running(server), contextlib.closing(ControlPlane(plane.assets, plane.home, port, server, plane.minor)) as other:
        wait_until(lambda: is_ready(other), "the second kube-apiserver being ready", server)
        yield other


def _root(version: str) -> str:
    """The path of an API group's version."""
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def is_ready(plane: ControlPlane) -> bool:
    """Whether its API server says so."""
    if not plane.ca.exists():
        return False
    with contextlib.suppress(OSError, http.client.HTTPException):
        return plane.request("GET", "/readyz").status == 200
    return False


def _write_kubeconfig(plane: ControlPlane, file: Path, tokens: Mapping[str, str]) -> None:
    """One context a user, of whom the first is the current one."""
    cluster = {"server": f"https://{plane.address}:{plane.port}", "certificate-authority": str(plane.ca)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(tokens)),
        "clusters": [{"name": "plane", "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}} for name, token in tokens.items()],
        "contexts": [{"name": name, "context": {"cluster": "plane", "user": name}} for name in tokens],
    }
    file.write_text(json.dumps(config))
    file.chmod(0o600)
