"""Two replicas behind the Service of an installation, a kubelet that asks them whether they are ready, and the ways in which things break.

What is modelled: a replica is a `serve` process with the server's account, on a port of its own at this machine's address, with an
EndpointSlice of its own. The kubelet asks `/readyz` of each replica again and again and writes what it heard to that slice, as the
kubelet and the EndpointSlice controller do together, only sooner. The API server itself picks among the ready endpoints, as kube-proxy
would. So a crash has a moment in which the endpoint of a dead process is still called, which no server can help: there requests may fail,
by connection alone. A replica that is taken away on purpose gets SIGTERM, and its endpoint goes at the same time, as with a deleted pod.
"""

import contextlib
import http.client
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from tests.cluster.admission import COMMAND, start
from tests.cluster.endpoints import publish
from tests.cluster.load import Failure, Load
from tests.cluster.planes import Planes
from tests.cluster.processes import RUNNING, Process, fetched, free_ports, wait_until
from tests.cluster.provisioning import NAMESPACE, SERVICE, Installed, installed
from tests.footprint import footprint

WAIT_SECONDS: Final = 60.0  # what must happen has happened within them, on a machine that does much else besides
IN_A_ROW: Final = 100  # requests that are answered without a failure in between: then things are well again
LAG: Final = 5  # seconds in which a replica that is told to end still serves those who haven't heard of it
# How a dead process looks to the API server: nobody listens, or a request that was under way found no answer.
BY_CONNECTION: Final = re.compile(
    r"connection refused|EOF|connection reset|broken pipe|server closed idle connection|use of closed network"
)


@dataclass(frozen=True, slots=True)
class Replica:
    """One server as a pod would run it."""

    name: str
    process: Process
    port: int

    def said(self, what: str) -> str:
        """What follows a word at the start of a line of its log; empty when there is no such line yet."""
        match = re.search(rf"^{what} (\S+)", self.process.text(), re.MULTILINE)
        return match[1] if match else ""

    def ready(self, seconds: float = 10) -> bool:
        """What a kubelet hears that waits so long."""
        address = self.said("probes").rpartition("/")[2]
        return bool(address) and self.process.ended() is None and fetched(address, "/readyz", seconds)[0] == 200

    def children(self) -> list[int]:
        """Its processes: one that forks for long requests, then one that watches the cluster."""
        pid = self.process.pid
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def memory(self) -> int:
        """What all its processes use together now, in bytes: see `footprint`."""
        return footprint(self.process.pid)

    def kill(self) -> None:
        """Ends it and all its processes as the end of its node would; its endpoint stays until somebody notices."""
        family = [self.process.pid, *self.children()]
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.stop()


@dataclass
class Site:
    """The installation, its replicas by name, and what its kubelet knows."""

    installed: Installed
    replicas: dict[str, Replica] = field(default_factory=dict)
    heard: dict[str, bool] = field(default_factory=dict)  # replica -> readiness as the API server was told
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self, name: str) -> None:
        """Starts a replica and waits until the kubelet has given it an endpoint."""
        self.launch(name)
        self.wait_until_heard(name, ready=True)

    def launch(self, name: str) -> None:
        """Starts a replica that has no endpoint yet."""
        [port] = free_ports(1, self.installed.address)
        home, address = self.installed.home, self.installed.address
        flags: dict[str, str | Path] = {"config": home / "replicas.yaml", "kubeconfig": self.installed.kubeconfig("server")}
        flags |= {"listen": f"{address}:{port}"}
        (home / f"{name}.log").unlink(missing_ok=True)
        process = start(name, home, COMMAND, "serve", account=f"{NAMESPACE}/{SERVICE}-server", **flags)
        self.replicas[name] = Replica(name, process, port)

    def terminate(self, name: str) -> int:
        """Takes a replica away as the deletion of its pod does, and returns its exit status."""
        replica = self.replicas.pop(name)
        os.kill(replica.process.pid, signal.SIGTERM)
        self._tell(replica, ready=False)
        wait_until(lambda: replica.process.ended() is not None, f"{name} ending", patience=WAIT_SECONDS)
        return replica.process.stop()

    def wait_until_heard(self, name: str, *, ready: bool) -> None:
        """Waits until the API server has been told that a replica is ready, or isn't."""
        processes = [self.replicas[name].process, *self.installed.provisioners.values()] if ready else []
        wait_until(lambda: self.heard.get(name) is ready, f"{name} being {'' if ready else 'un'}ready", *processes, patience=WAIT_SECONDS)

    def watch(self) -> None:
        """What the kubelet does until the end: asks, and writes down what has changed."""
        while not self._stop.wait(0.2):
            for replica in list(self.replicas.values()):
                ready = replica.ready()
                if ready is not self.heard.get(replica.name, False):
                    with contextlib.suppress(OSError, http.client.HTTPException):
                        self._tell(replica, ready=ready)

    def stop(self) -> None:
        """Ends the kubelet and all replicas, without a drain that nobody would see."""
        self._stop.set()
        for replica in self.replicas.values():
            replica.kill()

    def _tell(self, replica: Replica, *, ready: bool) -> None:
        at = (self.installed.address, replica.port)
        conditions = {"ready": ready, "serving": ready, "terminating": not ready}
        if publish(self.installed.plane, SERVICE, NAMESPACE, f"{SERVICE}-{replica.name}", at, **conditions):
            self.heard[replica.name] = ready


CLAIMABLE: Final = "claimable"  # the only namespace whose claim exempts it


@contextlib.contextmanager
def faulty_site(planes: Planes, home: Path) -> Iterator[Site]:
    """An installation with two ready replicas, trusted by all objects; the API server may be another process at the end."""
    with installed(planes, home) as installation:
        written = yaml.safe_load((home / "config.yaml").read_text())
        written["serving"] |= {"drainLag": f"{LAG}s"}
        written["namespace"] = {"scope": {"grace": "2s", "claimable": [CLAIMABLE]}}
        (home / "replicas.yaml").write_text(yaml.safe_dump(written))
        site = Site(installation)
        kubelet = threading.Thread(target=site.watch, name="kubelet", daemon=True)
        kubelet.start()
        try:
            installation.provision()
            for name in ("replica-1", "replica-2"):
                site.launch(name)
            installation.wait_until_stable()
            for name in site.replicas:
                site.wait_until_heard(name, ready=True)
            yield site
        finally:
            site.stop()
            kubelet.join(WAIT_SECONDS)
            installation.stop()


@contextlib.contextmanager
def etcd_paused(site: Site) -> Iterator[None]:
    """Stops the clock of the plane's etcd within the block."""
    log = site.installed.plane.home / "etcd.log"
    [etcd] = [process for process in RUNNING if process.log == log]
    os.kill(etcd.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(etcd.pid, signal.SIGCONT)


def recovered(load: Load) -> list[Failure]:
    """Waits until many requests in a row have been answered well; returns what has failed until then, and takes it away."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        began = time.monotonic()
        load.wait_for(IN_A_ROW)
        if not load.since(began):
            failures, load.failures[:] = list(load.failures), []
            return failures
        assert began < deadline, f"requests still fail: {load.since(began)[-3:]}"


def unexplained(failed: list[Failure]) -> list[Failure]:
    """Failures that the end of a process doesn't explain."""
    return [each for each in failed if not BY_CONNECTION.search(each.said)]
