"""A control plane whose kinds are served in both versions, converted by our server as a process that tests may kill and start again."""

import base64
import contextlib
import http.client
import json
import re
import signal
import ssl
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import kill
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from dynamo_webhooks.api.crd import build as crd
from tests.cluster.admission import COMMAND, FACTS, Admission
from tests.cluster.harness import ADMIN, TOKENS, ControlPlane, control_plane, is_ready
from tests.cluster.processes import Process, free_ports, wait_until

Node: TypeAlias = dict[str, Any]
KINDS: Final = (
    "DynamoGraphDeployment",
    "DynamoComponentDeployment",
    "DynamoGraphDeploymentRequest",
    "DynamoGraphDeploymentScalingAdapter",
)

CONNECTIONS: Final = 8  # of create_many; more wait for each other in etcd


class Converter:
    """Our server on one port for as long as the tests run, through several processes."""

    def __init__(self, home: Path, facts: Node = FACTS) -> None:
        """Starts the first process."""
        home.mkdir(parents=True, exist_ok=True)
        self._home = home
        (home / "facts.yaml").write_text(yaml.safe_dump(facts))
        [self.port] = free_ports(1)
        self.start()

    def start(self) -> None:
        """Starts a process and waits until it is ready."""
        seen = self._log.read_text().count("ready https://") if self._log.exists() else 0
        flags: dict[str, str | Path] = {f"--{name}": "127.0.0.1:0" for name in ("probe-listen", "metrics-listen")}
        flags |= {"--listen": f"127.0.0.1:{self.port}", "--cert-dir": self._home / "certs", "--facts": self._home / "facts.yaml"}
        command = [COMMAND, "serve", "--self-signed", "--no-cluster", *(part for flag in flags.items() for part in flag)]
        self.process = Process("dynamo-webhooks", command, self._log)
        wait_until(lambda: self.process.text().count("ready https://") > seen, "dynamo-webhooks being ready", self.process)

    @property
    def admission(self) -> Admission:
        """The same process as one that judges writes."""
        return Admission(self.process, f"https://127.0.0.1:{self.port}", (self._home / "certs" / "ca.crt").read_bytes())

    @property
    def _log(self) -> Path:
        return self._home / "dynamo-webhooks.log"

    def kill(self) -> None:
        """Ends the process as a crash would."""
        kill(self.process.pid, signal.SIGKILL)
        self.process.stop()

    def lines(self) -> list[Node]:
        """The access log's lines of conversions, of all processes."""
        found = [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]
        return [line for line in found if line.get("path") == "/convert"]

    def stanza(self) -> Node:
        """What `spec.conversion` of a CRD says."""
        bundle = base64.b64encode((self._home / "certs" / "ca.crt").read_bytes()).decode()
        client = {"url": f"https://127.0.0.1:{self.port}/convert", "caBundle": bundle}
        return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}


@contextlib.contextmanager
def converting_plane(assets: Path, home: Path) -> Iterator[tuple[ControlPlane, Converter]]:
    """Runs both; whatever the tests restarted meanwhile is stopped too."""
    converter = Converter(home / "serve")
    try:
        with control_plane(assets, home / "plane") as plane:
            try:
                plane.install(*(crd(kind, conversion=converter.stanza()) for kind in KINDS))
                yield plane, converter
            finally:
                plane.server.stop()
    finally:
        converter.process.stop()


def restart(plane: ControlPlane) -> None:
    """Ends the API server and starts it on the same etcd, with empty caches."""
    plane.server.stop()
    plane.server = Process(plane.server.name, plane.server.command(), plane.server.log)
    wait_until(lambda: is_ready(plane), "kube-apiserver being ready again", plane.server)


def listed(plane: ControlPlane, path: str) -> Node | None:
    """A list; None where the API server can't give it yet, or not within the time that it gives itself."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        found = plane.request("GET", path)
        return found.body if found.status == 200 else None
    return None


def create_many(plane: ControlPlane, path: str, objects: Sequence[Node]) -> None:
    """Creates objects, several at once."""
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        for reply in threads.map(partial(plane.request, "POST", path), objects):
            assert reply.status == 201, str(reply.body)[:500]


def events(plane: ControlPlane, path: str, version: str) -> Iterator[Node]:
    """Watches a collection from a resource version on, for as long as the caller reads."""
    context = ssl.create_default_context(cafile=str(plane.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", plane.port, context=context, timeout=120)
    with contextlib.closing(connection):
        query = f"watch=1&resourceVersion={version}&timeoutSeconds=110"
        connection.request("GET", f"{path}?{query}", headers={"Authorization": f"Bearer {TOKENS[ADMIN][0]}"})
        answer = connection.getresponse()
        assert answer.status == 200
        for line in answer:
            yield json.loads(line)


def without_server_fields(obj: Node) -> Node:
    """An object without what the API server keeps for itself."""
    metadata = {
        k: v for k, v in obj["metadata"].items() if not re.fullmatch("uid|resourceVersion|creationTimestamp|generation|managedFields", k)
    }
    return {**obj, "metadata": metadata}
